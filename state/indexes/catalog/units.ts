/**
 * Units of measure: the single spelling that the index uses, and the spellings that people use. The metre is missing,
 * because `3M` is a brand and not a length.
 */
const SPELLINGS = {
  in: ['in', 'inch', 'inches', 'ins'],
  ft: ['ft', 'foot', 'feet'],
  sqft: ['sqft'],
  cuft: ['cuft'],
  sqin: ['sqin'],
  cuin: ['cuin'],
  yd: ['yd', 'yds', 'yard', 'yards'],
  mm: ['mm'],
  cm: ['cm'],
  gal: ['gal', 'gals', 'gallon', 'gallons'],
  qt: ['qt', 'qts', 'quart', 'quarts'],
  oz: ['oz', 'ounce', 'ounces'],
  lb: ['lb', 'lbs', 'pound', 'pounds'],
  kg: ['kg', 'kgs', 'kilogram', 'kilograms'],
  gram: ['g', 'gram', 'grams', 'gramme', 'grammes'],
  mg: ['mg', 'milligram', 'milligrams'],
  litre: ['l', 'litre', 'litres', 'liter', 'liters'],
  ml: ['ml', 'millilitre', 'millilitres', 'milliliter', 'milliliters'],
  volt: ['v', 'volt', 'volts'],
  watt: ['w', 'watt', 'watts'],
  kw: ['kw', 'kilowatt', 'kilowatts'],
  amp: ['amp', 'amps', 'ampere', 'amperes'],
  hp: ['hp'],
  btu: ['btu', 'btus'],
  gauge: ['ga', 'gauge'],
  cc: ['cc'],
  pack: ['pk', 'pack', 'packs'],
  piece: ['pc', 'pcs', 'piece', 'pieces'],
  k: ['k'],
  degree: ['degree', 'degrees'],
  ton: ['ton', 'tons'],
  cfm: ['cfm'],
  mph: ['mph'],
  psi: ['psi'],
  gb: ['gb'],
  tb: ['tb'],
  mah: ['mah'],
  hz: ['hz', 'hertz'],
} as const

const UNITS: ReadonlyMap<string, string> = new Map(
  Object.entries(SPELLINGS).flatMap(([unit, spellings]) => spellings.map((spelling) => [spelling, unit] as const)),
)

/** Returns the spelling that the index uses for a unit; undefined for a word that is not a unit. */
export function unitOf(word: string): string | undefined {
  return UNITS.get(word)
}
