/* The words of a pairing card: 2048, so one stands for eleven bits. Chosen by hand for this project: plain English,
   four to nine letters, no two with the same first four letters, no two that differ in one letter only. The order is
   part of `tokenling-card 1`: a word that moves makes old cards unreadable. Tests hold all of this. */

const WORDS = `
abacus ability aboard about above absent absorb abundant acacia academy accent accident acclaim account accurate
achieve acid acorn acquire across acrylic actual adage adapt address adhere adjective adjourn adjust admire adobe
adult advance advert advice advocate aerial aerobic afar affect afford afloat afraid after again agate agenda agile
aglow agree ahead airport alabaster alarm album alchemy alcove alder alert alfalfa algebra alias alive alley allspice
almanac almond alone alpaca alpha already also altitude aluminum always amass amateur amaze amber amend amethyst
amiable amino amount amphibian amulet amuse anagram anatomy anchor ancient anecdote angle angora animal anise announce
annual anorak another answer antenna anthem antique antler anvil anyway apart apex apiary apology appear apple appoint
apricot apron aqua arable arcade arctic ardent arena argue armada armchair aroma around arrange arrive article ascend
aside aspect asphalt aspire assemble assist assume astronomy asylum athlete atlas atom atrium attach attend attic
attract attune aubergine auburn auction audio august aunt aurora author automatic autumn avalanche avenue average
aviation avocado avoid awake award away awkward awning axiom axis azalea aztec azure baboon baby bacon badge bagel
baggage bail balance balcony balsam bamboo banana band banjo banner banquet bantam barber bargain baritone barley barn
baroque barrel basic basket batch battery bauble bayou bazaar bead beagle beauty beaver because become bedrock beef
beetle before begin begonia behave behind behold beige being belfry belief belong bemuse bench benefit benign bequest
beret beside best beta better between beverage beware beyond bicycle bifocal bike bilingual bill binary biology birch
bird biscuit bisect bison bistro black blade blanket blast blend bless blimp blink blitz blizzard blossom blot bluff
blush bobbin bobcat body bohemian bolt bonfire bongo bonnet bonus book boost borough borrow botany both bottle bounce
bouquet bovine bowl boxer bracket brain branch brass brave brazen breeze briar brick bridge brief bright brim brittle
broad broccoli broker bronze broom brother brown bubble bucket buddy budget buffalo buggy bugle build bulb bulge
bumper bundle bungalow bunker bunny bunting buoy bureau burger burlap burst business bustle buyer buzz bygone byte
cabbage cabin cable cache cactus caddie cadence cafe calcium calendar calf calico calorie camel camp candle canoe
canvas capable caper capsule captain caramel carbon card cargo caribou carnival carol carpet carrot carve cascade cash
casino casserole castle casual catalog caution cavalry caviar cedar celery celsius cement center ceramic certain chain
chalk champion chance chapter charge chase chat check cheddar cheer chemist cherry chess chicken chief child chimney
chisel chive chocolate choice choose choppy chorus chrome chubby chuckle chunk cicada cinch cinder cinema cinnamon
cipher circle citadel citizen citrus city civil claim clarify clasp clause claw clean clerk clever client cliff climb
clinic clip cloak clog close cloth cloud clown club cluster clutch coach cobalt cobbler cobra cockpit cocoa code
coexist coffee cold collect colony column comb comfort common compass comrade concert condor confirm conifer connect
consider contest convince copilot copper copy coral correct cosine cosmic cost cottage cougar couple cousin cover
cowboy coyote crab crackle cradle craft crane crater cravat crawl crayon cream credit creek crepe crest crew cricket
crisp critic crocus croissant crop crouton crowd crunch crystal cube cuckoo cucumber cuddle culture cupboard curator
curious curl cushion custom cutlery cyan cycle cylinder cypress daily damask damsel dance dandelion dapper dark data
daughter dawn dazzle deacon debate decade december decorate deep defend define deft degree delay delight delta deluxe
demand demo denim denote dentist deploy depth deputy design desk dessert detail detect detour develop device dial
diamond diary diesel diet differ digital dignity dime dingo dinner dinosaur direct distance ditch divide docile doctor
doll dolphin domain domino donate donkey door dosage dose double dough dozen dragon drama draw dress drift drill drink
drive druid drum ducat duck duffel dugout dune duplex during duty dwell dynamic eager early earth easily easy ebony
echo eclipse ecology economy edible edit educate effort eggnog egret elapse elastic elbow electric elegant element
elephant elevator elite else embark embrace emerald emotion employ empty enable enamel encore endless energy engage
engine enigma enjoy enough enrich enroll ensure entail entire entry envelope epic episode epoch equal equip erase
erect ermine erosion errand escape essay estate eternal ether ethics evening ever evidence exact example excess
exchange excite exercise exhale exhibit exist exotic expand expect explain export express extend extra exult eyebrow
fabric face factor faint faith falcon fall family famous fancy fantasy farm fashion fast faucet feather february
federal feed feline fellow felt fence fennel fern ferry fertile festival fetch fiance fiber fiction fiddle field
fiesta fifteen figure film filter final find finger finish fiord first fiscal fish five flag flame flannel flash
flavor fleet flight flock floor flora fluent fluid flurry flute flyer foam focus fodder foil fondue foot forest forget
fork forum forward fossil foster found fragile freckle free frenzy frequent fresh friend fringe frog frolic front
frozen frugal fruit fuchsia fuel fulfil furnace furrow fuse future fuzzy gadget gaiety galaxy gale gallery gambit
gander gantry garage garden gargle garlic garment garnet gather gauge gavel gear gecko general genius genre gentle
genuine geology gerbil germ gesture getaway geyser giant gift giggle gimlet giraffe girl glacier glad glance glass
glaze gleam glide glimpse glitter globe gloom glory glossy glucose glue gluten gnat gnome goal gobble goblet golf good
goose gopher gorge gorilla gourd govern gown grace grammar grand gravity gray grebe green grid grocery grotto grow
guard guava guess guinea guitar gull guru gust gutter gyrate habit haiku halo halter hamlet hammer hamster hang happen
harbor harmony harp harvest hasten haven hawk hazard hazel health heap heart heavy hedge height helium hello helmet
herald herb hermit herring hexagon hiccup hickory hidden hiking hinge hint hippo history hobby hockey hogan holiday
hollow homage home honest honor hoof horizon horn horse hotdog hotel human humble humid humor humus hundred hurdle
hurry hush husky hutch hyacinth hydrogen hyena hyphen iceberg icicle icing icon idea identify idiom igloo image imbue
imitate immense impact import improve include income increase index indigo indoor infant inform ingot inhale inherit
initial inland inlet innocent input inquiry insect inside inspire install intact into invest invite inward iris
isolate italic item ivory jacket jade jaguar january jasmine jasper jazz jeans jelly jersey jetty jewel jigsaw jingle
jitter jogger join joke journey jovial judo juggle juice july jumbo jump junior jurist kangaroo karate karma kayak
kebab keen kelp kelvin kernel kettle khaki kick kimono kiosk kiss kitchen kite kitten kiwi knead knee knit knob knock
koala label labor ladder ladle lady lagoon lamb lancer lane language lantern larch large laser lasso laugh laundry
laurel lavender lavish lawyer layout league learn leave lecture leeway legacy legend leisure lemon lemur length lens
lentil leopard level liberty library license lichen life lilac lily limit linen lion liquid list lizard llama loaf
lobster local locust lodge loft logic long loop lorry lotion lotus lounge lucid lucky luggage lullaby lunar lunch
lupine luxury lyric machine macro magenta magic magma magnet magpie mahogany major make mallet malt mammal manage
mandarin mango manual maple maraca marble margin marine market marmot marry marsh marvel mascot mask material matrix
matter maximum meadow mean measure mechanic media medley melody member memory mental menu mercury merge merit mesh
message meteor method metro midnight might migrate mild mimic mimosa mineral minnow minute miracle mirror moat mobile
mocha model modify module mohair moist molar mole moment monday money monitor month moon morsel mortar mosaic moss
mother motor mountain movie much muesli muffin mulberry multiply museum mushroom music mutual myriad myrtle myself
mystery myth nacho name napkin narrow nation nature navy nebula neck nectar neighbor neither neon nephew nerve network
neutral news next nibble nickel niece nine ninja noble nobody noise nomad noodle normal north notch nothing notice
nougat noun novel nozzle nudge nugget number nurse nutmeg nylon nymph oasis obey object oblong oboe observe obtain
obvious ocean ocelot octave october odor offer office often okay okra olympic omega omelet omit once onion online only
onset onyx opal opaque open opera opinion optical oracle orange orbit orchard order ordinary oregano organ orient
origin oriole ornament oscar osprey ostrich otter outdoor outfit owner oxbow oxygen oyster ozone pact paddle padlock
palace pamphlet panda panel pansy panther papaya parade parcel parent parlor parsley pass pasta path patient patrol
pattern pave peanut pebble pecan pelican pencil penguin peony people pepper perch perfect perhaps period person pesto
petal phantom phone photo phrase physics piano picnic picture pigeon pile pilgrim pilot pioneer pistachio pixel pixie
pizza planet plate play plaza please pledge plenty pliers plover plow plug plural pluto pocket podium poem point polka
pollen poncho pond pool popcorn poppy position potato pouch poultry powder practice precise predict prefer prepare
present pretty price primary prior prism private problem process produce program project promote proof proper proud
provide prune public pudding pulp pulse pumice pumpkin pupil puppet purchase pure purple putty pyramid python quack
quail quality quantum quarter quaver quench query quest quiet quill quince quiz quorum quota rabbit raccoon radar
radio raise rally random rapid rare raspberry rattle ravine razor reach reason recall recent recipe record reflect
reform regal region regular reindeer relax release remain remember remind remote render renew renown rent reopen
repair repeat reply report reptile rescue resemble resist result retire return reunion reveal review revolve reward
rhino rhyme rhythm ribbon rich ride rigid rinse ripple rival river roar roast robin robot robust rock rodeo romance
rooster rope rotate royal rubber rudder rugby rule runway rural russet safari saffron saga salad salmon salsa samba
sample sapphire sardine satin sauce sauna sausage savor saxophone scale scan scarf scatter scene scholar science
scissors scoop scotch scout scrap screen script scroll scrub scuba sculptor search seat second secret section security
seek segment seldom select semester senate send senior sense sentence sequel serene series serum service sesame
session setup seven sewing shade shaft shaggy shallow shampoo shawl sheep shelf sheriff shield shine shirt shiver
shoal shoe shoulder shovel shred shrimp shuffle shut sibling sienna sierra sieve sign silence silk silver similar
since siphon siren sister sitar size sizzle skate sketch skill skip slab slalom slender slice sling slogan slope
slumber small smart smile smooth snack snail snake snap sneeze sniff snow soccer social soda solid solo solution solve
someone sonata soothe sorbet soup source south space spatula speak special speed spell sphere spider spike spin spiral
splash splendid split sponge spoon sport spray spread spring sprout spruce square squeeze squirrel stable stadium
staff stage stalk stamp stand stay steady stereo stew stick stir stitch stomach stool stop store straw street strong
stucco student stunt sturdy style subject submit suburb subway success sudden suede suffix sugar suggest suit sultan
summer sunday sunset super supply surface surge surprise survey sushi sustain swarm sweater sweet swift swim swirl
swivel sycamore syllable syrup system tabby tackle taco tactic tadpole talcum talent talon tandem tangerine target
tart tassel taste taupe tavern taxi teak teapot teaspoon technique teddy teepee telephone tell temper tenant tennis
tenor tepid terrace thank thatch thaw theater theme then theory thesis thigh thimble third this thousand thread thrive
thrush thumb thunder thursday tiara ticket tidal tidbit tidy tiger tilt timber timid tinsel tire tissue title toad
today toddler tofu together toggle toilet token tomato tone tongue tonight tooth topaz topic topple torch tortoise
total totem toucan tour track trade traffic trail transfer trap travel treasure trek trend triangle tribe trigger trio
trolley trombone trophy trot trowel true truffle trumpet trunk trust tuba tuesday tulip tulle tundra tunnel turban
turkey turn turtle tutor tuxedo tweed twelve twenty twice twig twilight twist twitch type typical umbrella uncle under
unfair unfold unhappy uniform unique unison universe unknown unlike unlock until unusual unveil unwrap upbeat update
upgrade uphill uplift upon upper upset upstairs upward usable usage useful usher usual utensil utility utmost utopia
vacuum vague valid valor valve vanilla various vase vault vector vegetable vehicle veil velvet vendor veneer venture
verify verse very vessel veteran veto viable vibrant victory video view vigor village vinyl viola virtue visit vista
visual vital vivid vixen voice volcano volley volume vote vowel voyage vulcan wafer wage wagon walk walnut walrus
waltz want wardrobe warning wasp weasel wednesday welcome welder wharf wheat whimsy whip whisker white wicker width
wigwam wing winter wisdom wise woman wombat word woven wren wrinkle wrist xenon yacht yeast yeoman yesterday yoga
yogurt yolk yonder young yucca zeal zebra zenith zero zigzag zinc zinnia zipper zircon zodiac zoom zucchini
`;

export const CARD_WORDS: readonly string[] = WORDS.trim().split(/\s+/);
