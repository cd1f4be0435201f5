import { SnapshotError } from '../../kit/snapshots/checked-file.ts'

/** The columns of a table, and the kind of array of each. */
export type Shape = Readonly<Record<string, new (rows: number) => Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array>>
/** The rows of one page, as one array per column. */
export type Columns<S extends Shape> = { readonly [Name in keyof S]: InstanceType<S[Name]> }

export function columnsOf<S extends Shape>(shape: S, rows: number): Columns<S> {
  return Object.fromEntries(Object.entries(shape).map(([name, Column]) => [name, new Column(rows)])) as Columns<S>
}

/** Returns a text that identifies the names, the order and the kinds of the columns. */
export function describeColumns(shape: Shape): string {
  return Object.entries(shape)
    .map(([name, Column]) => `${name}:${Column.name}`)
    .join()
}

/** Returns the columns of a page as bytes, one after another. */
export function bytesOfColumns<S extends Shape>(columns: Columns<S>): Buffer {
  return Buffer.concat(Object.values(columns).map(bytesOf))
}

/** Fills the columns of a page with the bytes that `bytesOfColumns` returned. */
export function fillColumns<S extends Shape>(columns: Columns<S>, bytes: Buffer): void {
  const targets = Object.values(columns).map(bytesOf)
  const length = targets.reduce((sum, target) => sum + target.length, 0)
  if (bytes.length !== length) throw new SnapshotError(`a page has ${bytes.length} bytes instead of ${length}`)
  let at = 0
  for (const target of targets) {
    bytes.copy(target, 0, at)
    at += target.length
  }
}

function bytesOf(column: InstanceType<Shape[string]>): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
}
