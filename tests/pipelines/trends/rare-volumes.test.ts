import { expect, test } from 'vitest'
import type { Context } from '../../../pipelines/engine/index.ts'
import { addedVolumes, rareVolumes } from '../../../pipelines/trends/rare-volumes.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import { DEFAULT_MAX_BATCH_BYTES } from '../../../schemas/topic.ts'
import { regions } from '../../../schemas/trends/places/regions.ts'
import { trendRareVolumes } from '../../../schemas/trends/topics.ts'
import type { TrendRareVolumes } from '../../../schemas/trends/types.ts'

test('records of late contributions to popular terms fit into a Kafka batch, and contain every contribution', () => {
  const month = Date.UTC(2026, 0, 1) / 60_000
  const added = addedVolumes()
  for (let minute = 0; minute < 600; minute++) {
    for (const { woeid } of regions) added.add('popular', woeid, month + minute, 3)
    for (let term = 0; term < 3; term++) added.add(`${term}${'\u{1f600}'.repeat(139)}`, 1, month + minute, 1)
  }
  const sent: TrendRareVolumes[] = []
  const emit = (_topic: unknown, _key: number, value: TrendRareVolumes) => void sent.push(value)
  rareVolumes(trendRareVolumes as never).sendAdded(added, '3-through-17', { partition: 3, emit } as unknown as Context)
  const format = trendRareVolumes.value.open(0, { get: () => undefined })
  for (const record of sent) {
    const out = byteWriter()
    format.encode(record, out)
    expect(out.length).toBeLessThan(DEFAULT_MAX_BATCH_BYTES / 2)
  }
  expect(sent.flatMap(({ rows }) => rows)).toEqual([...added.rows()])
  expect(new Set(sent.map(({ adds_as }) => adds_as))).toEqual(new Set(['3-through-17']))
})
