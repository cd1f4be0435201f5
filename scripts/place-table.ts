import type { Region } from '../schemas/trends/places/regions.ts'

/** The line width in biome.json. */
const LINE_WIDTH = 140

/**
 * Returns the regions as JSON in the layout of the formatter, so that a new table differs from the old one only where
 * the data differs.
 */
export function placeTable(regions: readonly Region[]): string {
  return `[\n${regions.map(rowOf).join(',\n')}\n]\n`
}

/** Returns a value in one line, or with one line per field if one line with a comma would be too wide. */
function rowOf(region: Region): string {
  const fields = Object.entries(region).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  const line = `  { ${fields.join(', ')} }`
  return line.length < LINE_WIDTH ? line : `  {\n${fields.map((field) => `    ${field}`).join(',\n')}\n  }`
}
