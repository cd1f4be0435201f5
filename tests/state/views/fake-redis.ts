import { caughtUpKey, VALUE_FIELD, VERSION_FIELD, type ViewOperation, type ViewReader } from '../../../state/views/view.ts'

/** What the sink and Redis do together, in memory: enough to read what operations wrote. */
export function fakeRedis() {
  const strings = new Map<string, string>()
  const hashes = new Map<string, Map<string, string>>()
  const published: { channel: string; message: string }[] = []
  const state = { down: false, reads: 0 }

  function hash(key: string): Map<string, string> {
    const found = hashes.get(key) ?? new Map<string, string>()
    hashes.set(key, found)
    return found
  }

  function applyOne(operation: ViewOperation): void {
    switch (operation.op) {
      case 'set':
        strings.set(operation.key, operation.value)
        return
      case 'setIfNewer': {
        const fields = hash(operation.key)
        if (Number(fields.get(VERSION_FIELD) ?? Number.NEGATIVE_INFINITY) >= operation.version) return
        fields.set(VERSION_FIELD, String(operation.version)).set(VALUE_FIELD, operation.value)
        return
      }
      case 'del':
        strings.delete(operation.key)
        hashes.delete(operation.key)
        return
      case 'hset':
        for (const [field, value] of Object.entries(operation.fields)) hash(operation.key).set(field, value)
        return
      case 'expire':
        return
      case 'publish':
        published.push(operation)
    }
  }

  function answer<T>(value: T): Promise<T> {
    state.reads++
    return state.down ? Promise.reject(new Error('Connection is closed.')) : Promise.resolve(value)
  }

  const reader: ViewReader = {
    get: (key) => answer(strings.get(key) ?? null),
    hget: (key, field) => answer(hashes.get(key)?.get(field) ?? null),
  }
  return {
    reader,
    state,
    published,
    keys: () => [...strings.keys(), ...hashes.keys()],
    apply: (operations: readonly ViewOperation[]) => operations.forEach(applyOne),
    caughtUp(view: string, partitions: number) {
      for (let partition = 0; partition < partitions; partition++) strings.set(caughtUpKey(view, partition), '1')
    },
    flush() {
      strings.clear()
      hashes.clear()
    },
  }
}
