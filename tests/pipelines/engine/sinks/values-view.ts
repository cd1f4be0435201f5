import { NOT_CAUGHT_UP, type View, type ViewReader, viewTag, withCaughtUp } from '../../../../state/views/view.ts'

/** Creates a view of the last value of each key, like a compacted topic. */
export function valuesView(name: string): View<string, string> {
  return {
    name,
    operationsFor: (partition, key, value) => {
      const target = valueKey(name, partition, key)
      return value === null ? [{ op: 'del', key: target }] : [{ op: 'set', key: target, value }]
    },
  }
}

/** @returns undefined if the key has no value; NOT_CAUGHT_UP until the view has caught up with its topics */
export async function readValue(
  reader: ViewReader,
  name: string,
  partition: number,
  key: string,
): Promise<string | undefined | typeof NOT_CAUGHT_UP> {
  const value = await withCaughtUp(reader, name, partition, reader.get(valueKey(name, partition, key)))
  return value === NOT_CAUGHT_UP ? value : (value ?? undefined)
}

function valueKey(name: string, partition: number, key: string): string {
  return `${viewTag(name, partition)}:value:${key}`
}
