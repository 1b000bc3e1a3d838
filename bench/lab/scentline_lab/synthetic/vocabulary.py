"""The words of the synthetic web: topics, each with sub-topics, and words that every page uses."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subtopic:
    """A part of a topic; ``words[0]``, its keyword, stands on each of its pages."""

    name: str
    words: tuple[str, ...]

    @property
    def keyword(self) -> str:
        """The word that stands on each page of the sub-topic."""
        return self.words[0]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: its name as categories write it, its words from frequent to rare, and its sub-topics."""

    name: str
    words: tuple[str, ...]
    subtopics: tuple[Subtopic, ...]


def _topic(name: str, words: str, **subtopics: str) -> Topic:
    parts = tuple(Subtopic(part, tuple(text.split())) for part, text in subtopics.items())
    return Topic(name, tuple(words.split()), parts)


TOPICS: tuple[Topic, ...] = (
    _topic(
        "Sports",
        "team match player season coach league score training championship goal stadium referee tournament "
        "athlete victory defeat fans captain defence medal squad fixture trophy amateur",
        Hockey="hockey puck goalie rink skates slapshot faceoff penalty",
        Tennis="tennis racket serve backhand volley wimbledon baseline umpire",
        Rowing="rowing oar boat regatta crew coxswain sculls stroke",
    ),
    _topic(
        "Science",
        "research theory experiment scientist laboratory evidence hypothesis measurement energy discovery "
        "observation journal particle model equation instrument sample physics chemistry method result "
        "phenomenon nature academy",
        Astronomy="astronomy telescope planet galaxy orbit comet star nebula",
        Biology="biology cell species gene protein organism evolution enzyme",
        Geology="geology rock mineral volcano sediment fossil crust quartz",
    ),
    _topic(
        "Music",
        "song album band concert melody guitar rhythm singer stage orchestra recording chorus tune lyrics "
        "audience piano drummer festival harmony studio composer label tour instrument",
        Jazz="jazz saxophone swing improvisation trumpet bebop quartet blues",
        Opera="opera soprano aria tenor libretto overture baritone ballet",
        Folk="folk fiddle ballad accordion banjo reel flute pipes",
    ),
    _topic(
        "Cooking",
        "recipe ingredients oven flavour sauce kitchen minutes onion garlic chef butter dish simmer salt "
        "pepper taste bowl stir dinner pan olive cream spice serving",
        Baking="baking dough flour yeast bread crust sourdough pastry",
        Soups="soup broth ladle stock minestrone leek lentil bouillon",
        Desserts="dessert chocolate vanilla meringue custard caramel tart sugar",
    ),
    _topic(
        "Travel",
        "journey hotel tourist guide city airport map beach luggage museum passport island tour train coast "
        "flight holiday border souvenir traveller route harbour itinerary village",
        Hiking="hiking trail summit backpack ridge boots hut waymark",
        Cycling="cycling bicycle pedal saddle gravel derailleur touring helmet",
        Sailing="sailing yacht mast anchor knots rigging lagoon spinnaker",
    ),
    _topic(
        "Finance",
        "market bank investor price interest fund money account profit shares loan budget credit economy "
        "inflation capital dividend asset payment trader risk savings currency revenue",
        Bonds="bonds yield maturity treasury coupon issuer gilt debenture",
        Insurance="insurance premium policyholder claim actuary liability underwriter cover",
        Taxation="taxation deduction income levy allowance exemption filing duty",
    ),
    _topic(
        "Health",
        "doctor patient hospital treatment symptom disease medicine clinic diagnosis nurse therapy blood "
        "surgery infection vaccine pain recovery dose pharmacy illness trial wellbeing immune chronic",
        Nutrition="nutrition vitamin protein calorie fibre diet mineral meal",
        Dentistry="dentistry tooth enamel gum filling crown molar plaque",
        Sleep="sleep insomnia dream melatonin nap circadian snoring pillow",
    ),
    _topic(
        "History",
        "century empire king war ancient archive dynasty treaty revolution kingdom battle museum emperor "
        "manuscript colony chronicle reign medieval siege republic monument excavation heritage throne",
        Romans="romans legion senate caesar aqueduct gladiator forum consul",
        Vikings="vikings longship saga rune raid norse fjord chieftain",
        Railways="railways locomotive steam carriage signal gauge station viaduct",
    ),
    _topic(
        "Cinema",
        "film director actor scene screen script camera audience role premiere studio plot producer sequel "
        "cast drama thriller review trailer genre editing performance box plot",
        Animation="animation cartoon frame puppet anime storyboard drawing pixel",
        Westerns="western cowboy sheriff saloon frontier gunfight ranch outlaw",
        Documentary="documentary interview narrator footage investigation witness archive reportage",
    ),
    _topic(
        "Gardening",
        "garden plant soil seed flower leaf compost water pruning bed spring greenhouse weed harvest root "
        "shrub bloom mulch frost bulb hedge lawn pest cutting",
        Roses="roses petal thorn rambler bouquet floribunda rosehip trellis",
        Vegetables="vegetables tomato carrot cabbage bean courgette potato lettuce",
        Orchids="orchids epiphyte bark humidity pseudobulb cattleya phalaenopsis spike",
    ),
    _topic(
        "Computing",
        "software computer program code server data network developer user system memory processor file "
        "version interface bug screen password storage release device internet update keyboard",
        Databases="database query index transaction schema table replica join",
        Security="security encryption malware firewall exploit cipher phishing patch",
        Graphics="graphics shader texture polygon rendering raster mesh vertex",
    ),
    _topic(
        "Law",
        "court judge lawyer trial case law evidence statute jury appeal verdict rights contract justice "
        "defendant plaintiff hearing sentence tribunal counsel legal ruling witness constitution",
        Patents="patent inventor claim infringement licence novelty prior examiner",
        Family="custody divorce adoption guardian marriage maintenance parent mediation",
        Maritime="maritime salvage charter cargo vessel admiralty collision freight",
    ),
)

_COMMON = (
    "the of and to in is that for it as was with be by on not he this are or his from at which but have an "
    "had they you were their one all we can her has there been if more when will would who so no out up "
    "about into than them some could time these two may then do first any my now such like our over made "
    "after also did many must before through years where much your way well down should because each just "
    "those people how too little state good very make world still own see men work long get here between "
    "both life being under never day same another know while last might us great old year off come since "
    "against go came right used take three small next today often later again place part found always "
    "café naïve façade résumé cliché"
)

COMMON: tuple[str, ...] = tuple(_COMMON.split())
