"""Which log entries are page views."""

from scentline.models.accesslog.entry import Entry

#: Content types of what a page embeds or a user saves: images, styles, scripts, media, fonts, archives.
_MEDIA_KINDS = frozenset({"image", "audio", "video", "font"})
_MEDIA_TYPES = frozenset(
    {
        *("text/css", "text/javascript", "text/ecmascript"),
        *("application/javascript", "application/ecmascript", "application/x-javascript"),
        *("application/wasm", "application/x-shockwave-flash", "application/ogg", "application/x-mpegurl"),
        *("application/vnd.apple.mpegurl", "application/dash+xml"),
        *("application/font-woff", "application/font-woff2", "application/font-sfnt"),
        *("application/x-font-woff", "application/x-font-ttf", "application/x-font-otf"),
        *("application/vnd.ms-fontobject", "application/x-font-opentype", "application/x-font-truetype"),
        *("application/zip", "application/gzip", "application/x-gzip", "application/x-zip-compressed"),
        *("application/x-tar", "application/x-bzip2", "application/x-xz", "application/zstd"),
        *("application/x-7z-compressed", "application/vnd.rar", "application/x-rar-compressed"),
        *("application/java-archive", "application/x-iso9660-image", "application/x-rpm"),
        *("application/vnd.debian.binary-package", "application/vnd.android.package-archive"),
        *("application/x-msdownload", "application/x-apple-diskimage"),
    }
)
#: The same by the end of the URL's path.
_EXTENSIONS = """
    avif bmp gif heic ico jpeg jpg jxl png svg svgz tif tiff webp
    css js less map mjs scss swf wasm
    aac avi flac flv m3u8 m4a m4s m4v mid midi mkv mov mp3 mp4 mpeg mpg oga ogg ogv opus wav webm wma wmv
    eot otf ttf woff woff2
    7z apk bz2 cab deb dmg exe gz iso jar msi pkg rar rpm tar tbz2 tgz txz war xz zip zst
"""
_MEDIA_EXTENSIONS = frozenset(_EXTENSIONS.split())
#: Types that do not say what was sent.
_NO_TYPE = frozenset({None, "application/octet-stream", "binary/octet-stream"})


def page_view(entry: Entry) -> str | None:
    """Return why an entry is not a page view, or None when it is one.

    In this order: "method" (another than GET), "status" (other than 2xx and 304), "media" (an image, style,
    script, film, sound, font or archive by its content type or, where that says nothing, by its URL).
    Whether the URL can be crawled shows when it is made canonical.
    """
    if entry.method != "GET":
        return "method"
    if not (200 <= entry.status < 300 or entry.status == 304):
        return "status"
    return "media" if _is_media(entry) else None


def _is_media(entry: Entry) -> bool:
    kind = entry.content_type
    if kind is not None and kind not in _NO_TYPE:
        return kind in _MEDIA_TYPES or kind.partition("/")[0] in _MEDIA_KINDS
    folder, _, name = entry.url.partition("?")[0].partition("#")[0].rpartition("/")
    if folder.endswith(":/"):  # "http://example.zip" ends with its host
        return False
    _, dot, extension = name.rpartition(".")
    return bool(dot) and extension.lower() in _MEDIA_EXTENSIONS
