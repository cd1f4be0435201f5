import { SnapshotError } from '../../kit/snapshots/checked-file.ts'

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array
/** The fields of a record, and the kind of array that reads each of them. */
export type Shape = Readonly<
  Record<string, { new (buffer: ArrayBuffer): Numbers; readonly BYTES_PER_ELEMENT: number; readonly name: string }>
>
/**
 * A page of records. The arrays of all fields are views of the same buffer, in which the fields of a record are next to
 * each other. Reading several fields of a record therefore touches only one or two cache lines instead of one per
 * field.
 */
export type Records<S extends Shape> = { readonly [Name in keyof S]: InstanceType<S[Name]> }
/** For each field, a function that returns the position of a record's value in the array of this field. */
export type Places<S extends Shape> = { readonly [Name in keyof S]: (record: number) => number }

/** The largest fields come first, so that each field is aligned to its size. */
function sorted(shape: Shape) {
  return Object.entries(shape).sort(([, one], [, other]) => other.BYTES_PER_ELEMENT - one.BYTES_PER_ELEMENT)
}

/** Returns the size of a record in bytes: a multiple of the size of its largest field. */
function sizeOf(shape: Shape): number {
  const sizes = Object.values(shape).map((field) => field.BYTES_PER_ELEMENT)
  const largest = Math.max(...sizes)
  return Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / largest) * largest
}

export function placesOf<S extends Shape>(shape: S): Places<S> {
  const size = sizeOf(shape)
  let start = 0
  const places = sorted(shape).map(([name, { BYTES_PER_ELEMENT: bytes }]) => {
    const [step, first] = [size / bytes, start / bytes]
    start += bytes
    return [name, (record: number) => record * step + first] as const
  })
  return Object.fromEntries(places) as Places<S>
}

export function recordsOf<S extends Shape>(shape: S, count: number): Records<S> {
  const buffer = new ArrayBuffer(count * sizeOf(shape))
  return Object.fromEntries(Object.entries(shape).map(([name, Field]) => [name, new Field(buffer)])) as Records<S>
}

/** Returns a text that identifies the names, the order and the kinds of the fields. */
export function describeRecords(shape: Shape): string {
  return sorted(shape)
    .map(([name, Field]) => `${name}:${Field.name}`)
    .join()
}

/** Returns the bytes of a page. They are a view and not a copy, so they change with the page. */
export function bytesOfRecords(records: Records<Shape>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Object.values(records)[0].buffer as ArrayBuffer)
}

/** Fills a page with the bytes that `bytesOfRecords` returned. */
export function fillRecords(records: Records<Shape>, bytes: Uint8Array): void {
  const target = bytesOfRecords(records)
  if (bytes.length !== target.length) throw new SnapshotError(`a page has ${bytes.length} bytes instead of ${target.length}`)
  target.set(bytes)
}
