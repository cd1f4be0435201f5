import { type MemoryBroker, memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import type { Transport } from '../../../kafka/transport.ts'
import { createSink, groupJob, indexTarget, type JobTurn, type Runner, type Sink, searchedIndex } from '../../../pipelines/engine/index.ts'
import { keepIndex } from '../../../pipelines/indexes/keeper.ts'
import type { KeeperDeps } from '../../../pipelines/indexes/keeper-deps.ts'
import type { BuildProgress } from '../../../pipelines/indexes/progress.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { avroValue } from '../../../schemas/avro/value.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import { utf8 } from '../../../schemas/keys.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { type SearchClient, searchClient } from '../../../state/indexes/client.ts'
import { indexFamily } from '../../../state/indexes/family.ts'
import { indexReader, NOT_COMPLETE } from '../../../state/indexes/reader.ts'
import type { Index } from '../../../state/indexes/search-index.ts'
import { loneSeat } from '../engine/sinks/lone-seat.ts'

export interface Note {
  readonly text: string
}

const schema = { type: 'record', name: 'Note', fields: [{ name: 'text', type: 'string' }] }
const PARTITIONS = 2
const HITS = 1_000

/** Creates an index of notes on a real search server, fed from an in-memory broker. */
export function notesIndex(url: string, name: string, extra: Partial<Index<string, Note>> = {}) {
  const broker = memoryBroker()
  return notesIndexOn(broker, searchClient(url), name, extra)
}

export function notesIndexOn(broker: MemoryBroker, client: SearchClient, name: string, extra: Partial<Index<string, Note>> = {}) {
  const notes: Topic<string, Note> = { name: `${name}-notes`, key: utf8, value: avroValue(schema), partitions: PARTITIONS }
  const requests: Topic<string, Note> = { name: `${name}.rebuild`, key: utf8, value: avroValue(schema), partitions: 1 }
  const index: Index<string, Note> = {
    name,
    version: 1,
    settings: { refresh_interval: '50ms' },
    mappings: { properties: { text: { type: 'text' }, kind: { type: 'keyword' }, size: { type: 'integer' } } },
    documentOf: (_key, { text }) => ({ text, kind: 'note', size: text.startsWith('size:') ? text.slice('size:'.length) : text.length }),
    ...extra,
  }
  for (const topic of [notes, requests]) broker.createTopic({ name: topic.name, partitions: topic.partitions })
  const registry = memoryRegistry()
  const runtime = systemRuntime()
  const reports: BuildProgress[] = []
  const latest = new Map<string, string | null>()

  function encoded(topic: Topic<string, Note>, text: string): Buffer {
    const out = byteWriter()
    topic.value.open(1, { get: () => undefined }).encode({ text }, out)
    return Buffer.from(out.buffer.subarray(0, out.length))
  }

  /** Appends a note, or a tombstone if `text` is null. A key always goes to the same partition. */
  function write(key: string, text: string | null): void {
    const partition = Number(key.replaceAll(/\D/g, '')) % PARTITIONS
    const value = text === null ? null : encoded(notes, text)
    broker.append(notes.name, partition, { timestamp: 5, key: Buffer.from(key), value, headers: [] })
    latest.set(key, text)
  }

  function requestRebuild(id: string): void {
    broker.append(requests.name, 0, { timestamp: 5, key: Buffer.from(name), value: encoded(requests, id), headers: [] })
  }

  function startSink(memberId = 'sink'): Sink {
    const transport = memoryTransport(broker)
    const target = indexTarget(index, searchedIndex(index, indexFamily(index, client), client))
    const sink = createSink(
      { name: `${name}-sink`, topics: [notes] },
      { transport, registry, target, seat: loneSeat(transport, `${name}-sink`, memberId), runtime },
    )
    sink.run().catch(() => {})
    return sink
  }

  function keeperDeps(transport: Transport, through: SearchClient = client): KeeperDeps<string, Note> {
    return {
      index,
      topic: notes,
      client: through,
      transport,
      registry,
      runtime,
      lookEveryMs: 100,
      formerKeptMs: 300,
      report: async (_turn, progress) => void reports.push(progress),
      requestId: (value) => (value as Note).text,
      completedIds: async () =>
        reports.flatMap(({ state, requestId }) => (state === 'complete' && requestId !== undefined ? [requestId] : [])),
    }
  }

  function startKeeper(memberId = 'keeper', through: SearchClient = client): Runner {
    const transport = memoryTransport(broker)
    const run = (turn: JobTurn<string, Note>) => keepIndex(keeperDeps(transport, through), turn)
    const seat = loneSeat(transport, `${name}-keeper`, memberId)
    const runner = groupJob({ name: `${name}-keeper`, requests, publishes: [], run }, { transport, registry, seat, runtime })
    void runner.start()
    return runner
  }

  const reader = indexReader(client)

  /** Returns the searchable notes, at most 1,000; undefined while the index is not complete. */
  async function found(): Promise<Record<string, string> | undefined> {
    const answer = await reader.search(name, { query: { term: { kind: 'note' } }, size: HITS })
    if (answer === NOT_COMPLETE) return undefined
    const hits = answer.hits.hits as { _id: string; _source: Note }[]
    return Object.fromEntries(hits.map(({ _id, _source }) => [_id, _source.text]))
  }

  const expected = () => Object.fromEntries([...latest].filter((entry) => entry[1] !== null))

  async function concreteIndexes(): Promise<string[]> {
    return (await indexFamily(index, client).list()).map((each) => each.name)
  }

  return {
    broker,
    client,
    index,
    notes,
    requests,
    write,
    requestRebuild,
    keeperDeps,
    startSink,
    startKeeper,
    found,
    expected,
    concreteIndexes,
    reports,
  }
}
