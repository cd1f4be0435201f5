/**
 * A geohash cell as a pair of whole numbers: the column counts eastwards from 180° W, the row northwards from the South
 * Pole. The neighbours of a cell are therefore found by addition, even across the antimeridian, and rows beyond a pole
 * are easy to exclude.
 */
export interface Cell {
  /** Number of characters of the cell's geohash. */
  readonly precision: Precision
  readonly column: number
  readonly row: number
}

export type Precision = 4 | 5 | 6

/** A place on earth in degrees: latitude from -90 to 90, longitude from -180 to 180. */
export interface Place {
  readonly lat: number
  readonly lon: number
}

/** The edges of a cell in degrees. */
export interface Bounds {
  readonly south: number
  readonly north: number
  readonly west: number
  readonly east: number
}

const ALPHABET = '0123456789bcdefghjkmnpqrstuvwxyz'
const BITS_PER_CHARACTER = 5
const DEGREES_EAST_WEST = 360
const DEGREES_NORTH_SOUTH = 180

/**
 * Returns the number of columns at a precision. The first bit of a geohash belongs to the column, so the column has one
 * bit more than the row if the number of bits is odd.
 */
function columnsAt(precision: Precision): number {
  return 2 ** Math.ceil((precision * BITS_PER_CHARACTER) / 2)
}

function rowCount(precision: Precision): number {
  return 2 ** Math.floor((precision * BITS_PER_CHARACTER) / 2)
}

/**
 * Returns the cell that contains a place. A place on an edge belongs to the cell to the north or east; the North Pole
 * belongs to the northernmost row.
 */
export function cellOf({ lat, lon }: Place, precision: Precision): Cell {
  const columns = columnsAt(precision)
  const rows = rowCount(precision)
  return {
    precision,
    column: Math.floor(((lon + DEGREES_EAST_WEST / 2) / DEGREES_EAST_WEST) * columns) % columns,
    row: Math.min(Math.floor(((lat + DEGREES_NORTH_SOUTH / 2) / DEGREES_NORTH_SOUTH) * rows), rows - 1),
  }
}

export function boundsOf({ precision, column, row }: Cell): Bounds {
  const width = DEGREES_EAST_WEST / columnsAt(precision)
  const height = DEGREES_NORTH_SOUTH / rowCount(precision)
  const west = column * width - DEGREES_EAST_WEST / 2
  const south = row * height - DEGREES_NORTH_SOUTH / 2
  return { west, east: west + width, south, north: south + height }
}

export function centreOf(cell: Cell): Place {
  const { south, north, west, east } = boundsOf(cell)
  return { lat: (south + north) / 2, lon: (west + east) / 2 }
}

export function geohashOf({ precision, column, row }: Cell): string {
  let columnBits = columnsAt(precision)
  let rowBits = rowCount(precision)
  let hash = ''
  let character = 0
  for (let bit = 0; bit < precision * BITS_PER_CHARACTER; bit++) {
    if (bit % 2 === 0) {
      columnBits /= 2
      character = character * 2 + (Math.floor(column / columnBits) % 2)
    } else {
      rowBits /= 2
      character = character * 2 + (Math.floor(row / rowBits) % 2)
    }
    if (bit % BITS_PER_CHARACTER === BITS_PER_CHARACTER - 1) {
      hash += ALPHABET[character]
      character = 0
    }
  }
  return hash
}

/**
 * Returns the cell with a geohash of 4 to 6 characters.
 * @throws RangeError for any other text
 */
export function cellAt(geohash: string): Cell {
  const precision = geohash.length
  if (precision !== 4 && precision !== 5 && precision !== 6) throw new RangeError(`${geohash} is not a geohash of 4 to 6 characters`)
  let column = 0
  let row = 0
  for (let at = 0; at < precision; at++) {
    const character = ALPHABET.indexOf(geohash[at])
    if (character < 0) throw new RangeError(`${geohash} is not a geohash`)
    for (let bit = 0; bit < BITS_PER_CHARACTER; bit++) {
      const value = (character >> (BITS_PER_CHARACTER - 1 - bit)) & 1
      if ((at * BITS_PER_CHARACTER + bit) % 2 === 0) column = column * 2 + value
      else row = row * 2 + value
    }
  }
  return { precision, column, row }
}

/** Returns a cell and its neighbours: nine cells, or six in the rows at the poles. */
export function withNeighbours({ precision, column, row }: Cell): Cell[] {
  const columns = columnsAt(precision)
  const rows = rowCount(precision)
  return [-1, 0, 1]
    .map((up) => row + up)
    .filter((beside) => beside >= 0 && beside < rows)
    .flatMap((beside) => [-1, 0, 1].map((right) => ({ precision, column: (column + right + columns) % columns, row: beside })))
}

/**
 * Yields the cells of a row in the order of their distance from a column: first the cell in that column, then the two
 * neighbouring cells, and so on.
 */
export function* outwards({ precision, column }: Cell, row: number): Generator<Cell[]> {
  const columns = columnsAt(precision)
  const at = (offset: number): Cell => ({ precision, column: (column + offset + columns) % columns, row })
  yield [at(0)]
  for (let step = 1; step < columns / 2; step++) yield [at(step), at(-step)]
  yield [at(columns / 2)]
}
