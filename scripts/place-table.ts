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

/**
 * Returns a region as JSON on one line. If that line and a trailing comma exceed the line width, each field gets a
 * separate line.
 */
function rowOf(region: Region): string {
  const fields = Object.entries(region).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  const line = `  { ${fields.join(', ')} }`
  return line.length < LINE_WIDTH ? line : `  {\n${fields.map((field) => `    ${field}`).join(',\n')}\n  }`
}
