import table from './positions.json' with { type: 'json' }

/** Degrees north and east, rounded to two decimals. A hundredth of a degree is at most about 1.1 km. */
export interface Position {
  readonly lat: number
  readonly long: number
}

/** The centres of the 500 cities, keyed by woeid. The world and the countries have no position. */
export const positions: ReadonlyMap<number, Position> = new Map(
  Object.entries(table).map(([woeid, [lat, long]]) => [Number(woeid), { lat, long }]),
)
