import { expect, test } from 'vitest'
import { pipelineServices } from '../../pipelines/services.ts'
import { type SinkOwner, sinkGroupIds } from '../../pipelines/sink-groups.ts'
import type { SinkDeclaration } from '../../pipelines/sinks.ts'
import { utf8 } from '../../schemas/keys.ts'
import { rawValue } from '../../schemas/raw.ts'

function sink(name: string, store: SinkDeclaration['store'], ...topics: string[]): SinkDeclaration {
  return {
    name,
    store,
    topics: topics.map((topic) => ({ name: topic, key: utf8, value: rawValue(utf8), partitions: 1 })),
    open() {
      throw new Error('unexpected: this sink is only declared')
    },
  }
}

test('sinks of one role share a group if they have the same kind of target, even across services', () => {
  const services: SinkOwner[] = [
    { name: 'one', role: 'bulk', sinks: [sink('view', 'redis', 'a'), sink('table', 'clickhouse', 'a')] },
    { name: 'two', role: 'bulk', sinks: [sink('other-view', 'redis', 'b'), sink('same-topic', 'redis', 'b')] },
    { name: 'three', role: 'deciding', sinks: [sink('results', 'redis', 'a')] },
  ]
  expect(Object.fromEntries(sinkGroupIds(services))).toEqual({
    view: 'sinks-bulk-redis',
    table: 'sinks-bulk-clickhouse',
    'other-view': 'sinks-bulk-redis',
    'same-topic': 'sinks-bulk-redis',
    results: 'sinks-deciding-redis',
  })
})

test('if two services copy a topic into the same kind of target, the sink of the later service gets a separate group', () => {
  const services: SinkOwner[] = [
    { name: 'one', role: 'bulk', sinks: [sink('view', 'redis', 'a')] },
    { name: 'two', role: 'bulk', sinks: [sink('second', 'redis', 'b', 'a'), sink('table', 'clickhouse', 'a')] },
    { name: 'three', role: 'bulk', sinks: [sink('third', 'redis', 'b')] },
  ]
  expect(Object.fromEntries(sinkGroupIds(services))).toEqual({
    view: 'sinks-bulk-redis',
    second: 'sinks-bulk-redis-second',
    table: 'sinks-bulk-clickhouse',
    third: 'sinks-bulk-redis',
  })
})

test('the existing services need six groups', () => {
  expect(new Set(sinkGroupIds(pipelineServices).values())).toEqual(
    new Set([
      'sinks-bulk-blobs',
      'sinks-bulk-redis',
      'sinks-bulk-clickhouse',
      'sinks-bulk-opensearch',
      'sinks-deciding-redis',
      'sinks-deciding-http',
    ]),
  )
})
