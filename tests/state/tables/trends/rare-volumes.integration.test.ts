import { expect, test } from 'vitest'
import { byteWriter } from '../../../../schemas/codec.ts'
import { trendRareVolumes } from '../../../../schemas/trends/topics.ts'
import type { TrendRareVolumes } from '../../../../schemas/trends/types.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'
import { RowBinary } from '../../../../state/tables/row-binary.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { type RareVolumeBytes, rareVolumeBytes } from '../../../../state/tables/trends/rare-volume-bytes.ts'
import { trendRareVolumesTable } from '../../../../state/tables/trends/trend-rare-volumes.ts'
import { readVolumes, trendVolumesTable } from '../../../../state/tables/trends/trend-volumes.ts'
import { readVolumesOfTerms } from '../../../../state/tables/trends/volumes-of-terms.ts'
import { testDatabase } from '../database.ts'

const ALONE = { cluster: undefined }
const MINUTE_MS = 60_000
/** The beginning of the current minute, epoch ms. The time must be recent, because rows expire after 90 days. */
const AT = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS

test('a table from an earlier version gets the column adds_as, and rows with a value in it add to the volumes of their minute', async () => {
  const { client } = await testDatabase()
  await tableStore(trendVolumesTable, client, ALONE).prepare()
  const columns = trendRareVolumesTable.columns.filter((column) => !column.startsWith('adds_as'))
  const before = tableStore({ ...trendRareVolumesTable, columns, orderBy: '(term, minute)', migrations: [] }, client, ALONE)
  await before.prepare()
  const place = { kafka_topic: 'trend-rare-volumes', kafka_partition: 0, kafka_offset: 0 }
  const row = { term: 'café', minute: AT / 1_000, total: 3, woeids: [1], volumes: [3], ...place }
  await client.insert({ table: trendRareVolumesTable.name, values: [row], format: 'JSONEachRow' })
  let offset = 1
  const put = async (store: typeof before, adds_as: string, volume: number) => {
    const rows = new RowBinary({ topic: 'trend-rare-volumes', partition: 0 })
    trendRareVolumesTable.writeRows(
      0,
      recordOf({ adds_as, rows: [{ term: 'café', minute: AT, woeids: [1], volumes: [volume] }] }),
      offset,
      rows,
    )
    offset++
    await store.insertBinary(rows)
  }
  const read = async () => {
    const found = await readVolumes(client as unknown as TableReader, {
      woeid: 1,
      term: 'café',
      from: AT,
      to: AT + MINUTE_MS,
      stepMs: MINUTE_MS,
    })
    return found.get(AT)
  }
  const after = tableStore(trendRareVolumesTable, client, ALONE)
  await after.prepare()
  expect(await read()).toBe(3)
  await put(after, '', 5)
  await put(after, '0-17', 2)
  await put(after, '0-18', 2)
  // Inserts the last row again, as a sink does after a crash.
  await put(after, '0-18', 2)
  expect(await read()).toBe(9)
  await client.command({ query: 'OPTIMIZE TABLE trend_rare_volumes FINAL' })
  expect(await read()).toBe(9)
})

test('the volumes of several terms are read together, whether the terms are rare, frequent or both', async () => {
  const { client } = await testDatabase()
  await tableStore(trendVolumesTable, client, ALONE).prepare()
  await tableStore(trendRareVolumesTable, client, ALONE).prepare()
  const place = { kafka_topic: 'any', kafka_partition: 0, kafka_offset: 0 }
  const rare = { minute: AT / 1_000, woeids: [1, 44418], adds_as: '', ...place }
  await client.insert({
    table: trendRareVolumesTable.name,
    values: [
      { ...rare, term: 'rare', total: 3, volumes: [3, 2] },
      { ...rare, term: 'rare', total: 2, volumes: [2, 1] },
      // This term became frequent during the minute. A later count is in a separate row, because it arrived after the
      // minute had left the pipeline's state.
      { ...rare, term: 'both', total: 4, volumes: [4, 4] },
      { ...rare, term: 'both', total: 1, volumes: [1, 1], adds_as: '0-17' },
      { ...rare, term: 'other', total: 9, volumes: [9, 9] },
    ],
    format: 'JSONEachRow',
  })
  const frequent = { minute: AT / 1_000, ...place }
  await client.insert({
    table: trendVolumesTable.name,
    values: [
      { ...frequent, woeid: 1, term: 'both', volume: 40 },
      { ...frequent, woeid: 1, term: 'frequent', volume: 50 },
    ],
    format: 'JSONEachRow',
  })
  const range = { from: AT - MINUTE_MS, to: AT + MINUTE_MS, stepMs: MINUTE_MS }
  const reader = client as unknown as TableReader
  const terms = ['rare', 'both', 'frequent', 'never']
  const found = await readVolumesOfTerms(reader, { woeid: 1, terms, ...range })
  expect([...found].map(([term, volumes]) => [term, [...volumes]]).sort()).toEqual([
    ['both', [[AT, 41]]],
    ['frequent', [[AT, 50]]],
    ['rare', [[AT, 3]]],
  ])
  // Reading the history of a single term must give the same volumes.
  for (const [term, volumes] of found) expect(await readVolumes(reader, { woeid: 1, term, ...range })).toEqual(volumes)
})

test('volumes of terms with special characters are found', async () => {
  const { client } = await testDatabase()
  await tableStore(trendVolumesTable, client, ALONE).prepare()
  await tableStore(trendRareVolumesTable, client, ALONE).prepare()
  const terms = ['a\tb', 'a\nb', "a'b", 'a\\b', '"', '[1,2]', '{a}', '日本', '😀', '\\n', '%s', 'a\rb', 'a\u0001b']
  const rows = terms.map((term, offset) => ({
    ...{ term, minute: AT / 1_000, total: 3, woeids: [1], volumes: [3], adds_as: '' },
    ...{ kafka_topic: 'any', kafka_partition: 0, kafka_offset: offset },
  }))
  await client.insert({ table: trendRareVolumesTable.name, values: rows, format: 'JSONEachRow' })
  const range = { woeid: 1, from: AT, to: AT + MINUTE_MS, stepMs: MINUTE_MS }
  const reader = client as unknown as TableReader
  expect([...(await readVolumesOfTerms(reader, { terms, ...range })).keys()].sort()).toEqual(terms.toSorted())
  for (const term of terms) expect([term, (await readVolumes(reader, { term, ...range })).get(AT)]).toEqual([term, 3])
})

function recordOf(record: TrendRareVolumes): RareVolumeBytes {
  const out = byteWriter()
  const { value } = trendRareVolumes
  const lookup = { get: () => undefined }
  value.open(1, lookup).encode(record, out)
  return rareVolumeBytes(value).open(1, lookup).decode(out.buffer, 0, out.length)
}
