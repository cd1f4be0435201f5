import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PackedMap } from '../../../../api/kit/packed/packed-map.ts'
import { readSnapshot, type SnapshotForm, writeSnapshot } from '../../../../api/kit/packed/snapshot.ts'
import { snapshotPath } from '../../../../api/kit/snapshots/checked-file.ts'
import { diskFiles, type SpoolFile, type SpoolFiles } from '../../../../api/kit/spool/files.ts'
import { packing, reports, SOON, tableFolder, tableWorld } from './table-world.ts'

const NOW = Date.UTC(2026, 0, 15)
const form: SnapshotForm = { topic: 'entries', version: 1, valueBytes: 4, canExpire: true }
const KEY = Buffer.from('0123456789abcdef')
const ENTRIES = 40

const hashOf = (index: number) => Int32Array.of(index + 1, 0, 0, (index % 3) << 22)
const read = (view: DataView, at: number) => view.getUint32(at, true)

function someMap(): PackedMap {
  const map = new PackedMap(form)
  for (let index = 0; index < ENTRIES; index++) map.set(hashOf(index), Uint8Array.of(index, 0, 0, 1), 0, 0, 1)
  return map
}

async function written() {
  const folder = tableFolder()
  const snapshot = { map: someMap(), key: KEY, positions: new Map([[0, 17], [1, 2 ** 40]]), epochs: new Map([[0, 3]]), topicId: 'id', savedAt: NOW } // biome-ignore format: short
  await writeSnapshot(diskFiles, folder, form, snapshot)
  const path = snapshotPath(folder, form.topic)
  return { folder, path, bytes: readFileSync(path) }
}

const loaded = (folder: string, of = form) => readSnapshot(diskFiles, folder, of, () => NOW)

test('when a snapshot is written, only drafts older than an hour are removed', async () => {
  const { folder, path } = await written()
  const hour = 3_600_000
  for (const [name, age] of [
    ['one.1', hour + 1_000],
    ['two.1', hour - 1_000],
  ] as const) {
    // biome-ignore format: short
    writeFileSync(`${path}.${name}.draft`, '')
    utimesSync(`${path}.${name}.draft`, new Date(NOW - age), new Date(NOW - age))
  }
  const snapshot = { map: someMap(), key: KEY, positions: new Map([[0, 18]]), epochs: new Map([[0, 3]]), topicId: 'id', savedAt: NOW }
  await writeSnapshot(diskFiles, folder, form, snapshot)
  expect(readdirSync(folder).filter((name) => name.endsWith('.draft'))).toEqual(['entries.snapshot.two.1.draft'])
})

test('a snapshot is read as it was written', async () => {
  const { folder } = await written()
  const found = (await loaded(folder))!
  expect([found.key, found.topicId, found.savedAt, [...found.positions]]).toEqual([KEY, 'id', NOW, [[0, 17], [1, 2 ** 40]]]) // biome-ignore format: short
  expect(found.map.size).toBe(ENTRIES)
  for (let index = 0; index < ENTRIES; index++) expect(found.map.get(hashOf(index), 1, read)).toBe(0x0100_0000 + index)
  expect(await loaded(tableFolder())).toBeUndefined()
})

test('only the user of the process may read a snapshot, because it contains the key of the hashes', async () => {
  const { path } = await written()
  const { statSync } = await import('node:fs')
  expect(statSync(path).mode & 0o077).toBe(0)
})

test('a truncated snapshot is rejected, wherever it ends', async () => {
  const { folder, path, bytes } = await written()
  for (let length = 0; length < bytes.length; length++) {
    writeFileSync(path, bytes.subarray(0, length))
    await expect(loaded(folder), `${length} bytes`).rejects.toMatchObject({ name: 'SnapshotError' })
  }
})

test('a snapshot with bytes after its last block is rejected', async () => {
  const { folder, path, bytes } = await written()
  writeFileSync(path, Buffer.concat([bytes, bytes.subarray(-16)]))
  await expect(loaded(folder)).rejects.toMatchObject({ name: 'SnapshotError' })
})

test('a snapshot keeps the segments that follow a segment whose entries have all expired', async () => {
  const folder = tableFolder()
  const save = (map: PackedMap) =>
    writeSnapshot(diskFiles, folder, form, { map, key: KEY, positions: new Map(), epochs: new Map([[0, 3]]), topicId: 'id', savedAt: NOW })
  const inSegment = (segment: number, index: number) => Int32Array.of(index + 1, 0, 0, segment << 22)
  const value = Uint8Array.of(1, 0, 0, 0)
  const expiry = NOW / 1_000 - 2 * 86_400
  const restored = new PackedMap(form)
  for (let index = 0; index < ENTRIES; index++) restored.set(inSegment(0, index), value, 0, expiry, 1)
  restored.set(inSegment(1, 0), value, 0, 0, 1)
  await save(restored)
  await save((await loaded(folder))!.map)
  expect((await loaded(folder))!.map.get(inSegment(1, 0), 1, read)).toBe(1)

  // Deleting all entries but one shrinks the segment. The entry that is left has already expired.
  const shrunk = new PackedMap(form)
  for (let index = 0; index < ENTRIES; index++) shrunk.set(inSegment(0, index), value, 0, expiry, 1)
  shrunk.set(inSegment(1, 0), value, 0, 0, 1)
  for (let index = 0; index < ENTRIES - 1; index++) shrunk.delete(inSegment(0, index), NOW / 1_000)
  await save(shrunk)
  expect((await loaded(folder))!.map.get(inSegment(1, 0), 1, read)).toBe(1)
})

test('a snapshot with a flipped bit in any byte is rejected', async () => {
  const { folder, path, bytes } = await written()
  for (let at = 0; at < bytes.length; at++) {
    const damaged = Buffer.from(bytes)
    damaged[at] ^= 1 << (at % 8)
    writeFileSync(path, damaged)
    await expect(loaded(folder), `byte ${at}`).rejects.toMatchObject({ name: 'SnapshotError' })
  }
})

test.each<[string, Partial<SnapshotForm>]>([
  ['version', { version: 2 }],
  ['valueBytes', { valueBytes: 8 }],
  ['canExpire', { canExpire: false }],
])('a snapshot with another %s is not used', async (name, other) => {
  const { folder } = await written()
  await expect(loaded(folder, { ...form, ...other })).rejects.toThrow(name)
})

/** Creates a file system whose operations fail while `fault` names them. */
function faultyFiles() {
  const state = { fault: undefined as 'write' | 'datasync' | 'rename' | undefined }
  const faulty = (file: SpoolFile): SpoolFile => ({
    ...file,
    async write(bytes, position) {
      if (state.fault !== 'write') return await file.write(bytes, position)
      await file.write(bytes.subarray(0, bytes.length >> 1), position)
      throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    },
    async datasync() {
      if (state.fault === 'datasync') throw new Error('EIO: i/o error')
      await file.datasync()
    },
  })
  const files: SpoolFiles = {
    ...diskFiles,
    create: async (path) => faulty(await diskFiles.create(path)),
    async rename(from, to) {
      if (state.fault === 'rename') throw new Error('EACCES: permission denied')
      await diskFiles.rename(from, to)
    },
  }
  return { state, files }
}

test.each(['write', 'datasync', 'rename'] as const)('if %s fails, the older snapshot stays, and no draft is left', async (fault) => {
  const { state, files } = faultyFiles()
  const first = await tableWorld({ files })
  first.put('a', '1')
  const one = await first.open()
  await expect.poll(() => reports(one.table), SOON).toEqual({})
  await one.close()
  first.put('a', '2')
  state.fault = fault
  const two = await first.open()
  await expect.poll(() => reports(two.table), SOON).toEqual({})
  await two.close()
  expect(first.events('table_snapshot_not_written').map(({ reason }) => reason)).toEqual([expect.stringMatching(/ENOSPC|EIO|EACCES/)])
  expect(readdirSync(first.folder)).toEqual(['entries.snapshot'])
  state.fault = undefined
  const three = await first.open(true)
  first.state.aheadMs += 6_000
  await expect.poll(() => three.table.isFromSnapshot, SOON).toBe(true)
  expect(three.table.get('a')).toBe(1)
})

test('a damaged snapshot is ignored with a line in the log, and the topic is read again', async () => {
  const first = await tableWorld({})
  first.put('a', '1')
  const one = await first.open()
  await expect.poll(() => reports(one.table), SOON).toEqual({})
  await one.close()
  const path = snapshotPath(first.folder, 'entries')
  const bytes = readFileSync(path)
  bytes[bytes.length >> 1] ^= 4
  writeFileSync(path, bytes)
  const two = await first.open()
  await expect.poll(() => reports(two.table), SOON).toEqual({})
  expect([two.table.get('a'), first.begun.at(-1)]).toEqual([1, [0, 0, 0]])
  expect(first.events('table_snapshot_ignored')).toHaveLength(1)
  await two.close()
  const renewed = await tableWorld({ folder: first.folder, broker: first.broker, packing: { ...packing, version: 2 } })
  const three = await renewed.open()
  await expect.poll(() => reports(three.table), SOON).toEqual({})
  expect(renewed.events('table_snapshot_ignored')[0].reason).toContain('version')
})
