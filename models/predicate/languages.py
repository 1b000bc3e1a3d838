"""The languages that a predicate may ask for: ISO 639 codes of two letters, of three where there are no two."""

_CODES = """
    ace af am an ar ary arz as az ba bcl be bg bn br bs ca crh cs cy da de dz el en eo es et eu ext fa fi fo
    fr fuv fy ga gcf gcr gd gl gom grc gu gug guw ha hbo he hi hr ht hu hy id ig is it ja jv ka kab kik kk
    km kn ko ku ky la lb lg lij ln lo lt ltg lv mg mk ml mn mr ms mt my ne nl nn no nso oc om or pa pcm pl
    ps pt qu ro ru rw sa sdh se si sk sl sn so sq sr st sv sw ta te tg th tk tl tr tt ug uk ur uz uzs vec vi
    vo wa wuu xh yo yue zh zu
"""

#: Those that the judge of languages tells apart.
LANGUAGES = frozenset(_CODES.split())
