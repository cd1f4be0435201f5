import { expect, test } from 'vitest'
import { avroValue } from '../../../schemas/avro/value.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { joinBufferStore } from '../../../state/stores/join-buffer-store.ts'
import { keyedStore } from '../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { seenSetStore } from '../../../state/stores/seen-set-store.ts'
import type { EngineStore, StoreAccess, StoreContext } from '../../../state/stores/store.ts'
import { timerStore } from '../../../state/stores/timer-store.ts'
import { topKStore } from '../../../state/stores/top-k-store.ts'
import { windowedCounterStore } from '../../../state/stores/windowed-counter-store.ts'

type Uses<S> = { readonly [Method in Exclude<keyof S, keyof EngineStore>]: () => unknown }

/**
 * Pairs a store with one call of each method that authors of topologies can use. The type checker reports missing
 * methods.
 */
function uses<S extends EngineStore>(store: S, calls: (store: S) => Uses<S>): [EngineStore, Readonly<Record<string, () => unknown>>] {
  return [store, calls(store)]
}

const strings = avroValue<string[]>({ type: 'array', items: 'string' })
const stores = [
  uses(keyedStore('keyed', { key: utf8, value: avroValue<string>('string') }), (store) => ({
    prefetch: () => store.prefetch('k'),
    get: () => store.get('k'),
    put: () => store.put('k', 'v'),
    delete: () => store.delete('k'),
    scan: () => store.scan(),
    scrub: () => store.scrub(),
    roll: () => store.roll(),
  })),
  uses(timerStore('timer', { key: utf8 }), (store) => ({
    prefetch: () => store.prefetch('k'),
    schedule: () => store.schedule('k', 1),
    cancel: () => store.cancel('k'),
    dueTime: () => store.dueTime('k'),
    due: () => store.due(1, 0),
    takeDue: () => store.takeDue(1, 1),
  })),
  uses(windowedCounterStore('windowed', { key: utf8, bucketMs: 10, buckets: 2 }), (store) => ({
    prefetch: () => store.prefetch('k'),
    add: () => store.add('k', 1),
    count: () => store.count('k', 0, 1),
    buckets: () => store.buckets('k'),
    trim: () => store.trim('k', 0),
    delete: () => store.delete('k'),
    keys: () => store.keys().next(),
  })),
  uses(topKStore('top', { group: utf8, list: strings, k: 2, id: (item) => item, compare: (a, b) => a.localeCompare(b) }), (store) => ({
    prefetch: () => store.prefetch('g'),
    add: () => store.add('g', 'item'),
    remove: () => store.remove('g', 'item'),
    list: () => store.list('g'),
    delete: () => store.delete('g'),
    groups: () => store.groups().next(),
  })),
  uses(joinBufferStore<string, string>('joined', { key: utf8, value: 'string', spanMs: 10 }), (store) => ({
    prefetch: () => store.prefetch('k', 1),
    add: () => store.add('k', 1, 'v'),
    joinable: () => store.joinable('k', 1),
    takeExpired: () => store.takeExpired(0, 1),
  })),
  uses(seenSetStore('seen', { key: utf8, item: utf8, capacity: 10, errorRate: 0.1, lifetimeMs: 1_000, collectChanges: true }), (store) => ({
    prefetch: () => store.prefetch('k', 'item'),
    add: () => store.add('k', 'item', 1),
    has: () => store.has('k', 'item', 1),
    size: () => store.size('k', 1),
    pages: () => store.pages('k'),
    delete: () => store.delete('k'),
    expire: () => store.expire(1, 1),
    takeChanges: () => store.takeChanges(),
  })),
] as const
const calls = stores.flatMap(([store, methods]) => Object.entries(methods).map(([method, use]) => ({ store, method, use })))

function contextOf(store: EngineStore, access?: StoreAccess): StoreContext {
  const column = memoryBackend().session('guarded').column(store.name, 0)
  return { column, codec: store.values.open(1, { get: () => undefined }), cacheBytes: 2_000, access }
}

test.each(calls)('$store.name: $method throws on a store that was never opened', ({ store, use }) => {
  expect(use).toThrow(`store ${store.name} is not open: name it in the \`stores\``)
})

test.each(calls)('$store.name: $method is refused only to nodes that did not declare the store', ({ store, use }) => {
  const [declaring, other] = [{}, {}]
  const access = {
    node: other as object | undefined,
    admit(name: string) {
      if (this.node === other) throw new Error(`refused ${name}`)
    },
  }
  store.open(contextOf(store, access))
  for (const _twice of [1, 2]) expect(use).toThrow(`refused ${store.name}`)
  for (const node of [declaring, undefined]) {
    access.node = node
    expect(use).not.toThrow()
  }
  access.node = other
  expect(use).toThrow(`refused ${store.name}`)
})

test('a node is checked only once, unless another node uses the store in between', () => {
  const store = keyedStore('kept', { key: utf8, value: avroValue<string>('string') })
  const asked: object[] = []
  const access = { node: {}, admit: () => void asked.push(access.node) }
  store.open(contextOf(store, access))
  const first = access.node
  store.put('a', '1')
  store.get('a')
  const second = {}
  access.node = second
  store.get('a')
  store.get('b')
  access.node = first
  store.get('a')
  expect(asked).toEqual([first, second, first])
})
