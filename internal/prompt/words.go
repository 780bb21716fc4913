package prompt

import "strings"

// words are common English nouns of at most eight letters: with the space before
// it each is one token in every large vocabulary. The list is only read.
var words = strings.Fields(`
time year people way day man thing woman life child world school
state family student group country problem hand part place case week company
system program question work number night point home water room mother area
money story fact month lot right study book eye job word business
issue side kind head house service friend father power hour game line
end member law car city name team minute idea body back parent
face others level office door health person art history party result change
morning reason research girl guy moment air teacher force foot boy age
policy music market sense nation plan college interest effect use class control
care field role effort rate heart show leader light voice wife police
mind price report decision son view town road arm value building action
season society tax director position player record paper space ground form event
official matter center couple site project activity star table need court oil
cost industry figure street image phone data picture practice piece land product
doctor wall patient worker news test movie north love support step baby
computer type film tree source hair window culture chance brother energy period
course summer plant term letter choice rule south husband floor campaign material
call economy hospital church risk fire future defense security bank west sport
board subject officer rest behavior fight top goal bed order author agency
nature color store sound movement page race concern series language response animal
factor decade article east artist scene stock career approach size dog fund
media sign thought list
`)
