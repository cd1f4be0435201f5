import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { diskFiles, type SpoolFiles } from '../../../../api/kit/spool/files.ts'
import { recordFrame, SEGMENT_HEADER, topicFrame } from '../../../../api/kit/spool/frames.ts'
import { spoolProbe } from '../../../../api/kit/spool/observe.ts'
import { lockFile } from '../../../../runtime/file-lock.ts'
import { plain, QUICK, SOON, spoolFolder, spoolWorld } from './spool-world.ts'

const DEAD = '001700000000000-dead'
const SEGMENT = '00000001.records'
const LATER = '00000002.records'
const KEPT = '.damaged'
const DAY_MS = 24 * 3_600_000
/** Offset of the body within a frame, in bytes. */
const BODY = 8
const declaration = topicFrame(0, { name: plain.name, schema: '' })
const frames = ['1', '2', '3'].map((value) => recordFrame(0, { timestamp: 1, key: Buffer.from('a'), value: Buffer.from(value) }))
const whole = Buffer.concat([SEGMENT_HEADER, declaration, ...frames])
/** Offset of the second record's frame within the segment, in bytes. */
const SECOND = SEGMENT_HEADER.length + declaration.length + frames[0].length

/** Creates the parent folder of a spool, with the folder of a dead process in it. */
async function deadFolder(segments: Readonly<Record<string, Buffer>>): Promise<string> {
  const folder = await spoolFolder()
  await mkdir(join(folder, DEAD))
  for (const [name, bytes] of Object.entries(segments)) await writeFile(join(folder, DEAD, name), bytes)
  return folder
}

function damagedAt(position: number): Buffer {
  const bytes = Buffer.from(whole)
  bytes[position] ^= 0xff
  return bytes
}

const damages = [
  { what: 'its header', bytes: damagedAt(3), values: ['1', '2', '3'] },
  { what: 'a record in the middle', bytes: damagedAt(SECOND + BODY), values: ['1', '3'] },
  { what: 'the last record', bytes: damagedAt(whole.length - 1), values: ['1', '2'] },
  { what: 'the length of a record', bytes: damagedAt(SECOND + 3), values: ['1'] },
  { what: 'the declaration of its topic', bytes: damagedAt(SEGMENT_HEADER.length + BODY), values: undefined },
  { what: 'the version of its format', bytes: Buffer.concat([Buffer.from('MRSPOOL2'), whole.subarray(8)]), values: undefined },
]

test.for(damages)(
  'a file that is damaged in $what is preserved, and the records that can still be read are sent',
  async ({ bytes, values }) => {
    const folder = await deadFolder({ [SEGMENT]: bytes })
    const { spool, logged } = await spoolWorld({ folder })
    await expect.poll(() => spool.state.records, SOON).toBe(0)
    expect(logged().a).toEqual(values)
    expect(spool.state.damagedFiles).toBe(1)
    await expect.poll(() => readdir(folder), SOON).not.toContain(DEAD)
    const kept = join(folder, KEPT, `${DEAD}-${SEGMENT}`)
    expect(await readFile(kept)).toEqual(bytes)
    expect((await stat(join(folder, KEPT))).mode & 0o077).toBe(0)
  },
)

test.for([
  { what: 'a record in the middle', at: SECOND + BODY, values: ['1', '3'] },
  { what: 'the length of a record', at: SECOND + 3, values: ['1'] },
])(
  'a file that is damaged in $what while its process runs is preserved, and its readable records and all later records are sent',
  async ({ at, values }) => {
    const { folder, spool, facts, logged, connect } = await spoolWorld({ isConnected: false })
    for (const value of ['1', '2', '3']) await facts.publishOrSpool(plain, 'a', value, QUICK)
    const own = (await readdir(folder)).find((name) => !name.startsWith('.'))!
    const file = join(folder, own, SEGMENT)
    const bytes = await readFile(file)
    bytes[at] ^= 0xff
    await writeFile(file, bytes)
    await connect()
    await expect.poll(() => spool.state.records, SOON).toBe(0)
    await facts.publishOrSpool(plain, 'a', 'later', QUICK)
    await expect.poll(() => logged().a, SOON).toEqual([...values, 'later'])
    expect(spool.state).toMatchObject({ damagedFiles: 1, sent: values.length + 1, dropped: 3 - values.length })
    expect(await readFile(join(folder, KEPT, `${own}-${SEGMENT}`))).toEqual(bytes)
    await expect.poll(() => readdir(join(folder, own)), SOON).not.toContain(SEGMENT)
  },
)

test('a write that was cut off by a crash, and a file without records, do not count as damaged', async () => {
  const cutOff = [whole.subarray(0, -1), whole.subarray(0, SECOND + 3), Buffer.concat([whole, Buffer.alloc(100)]), Buffer.from('MRS')]
  const folder = await deadFolder(Object.fromEntries(cutOff.map((bytes, index) => [`0000000${index}.records`, bytes])))
  const { spool, logged } = await spoolWorld({ folder })
  await expect.poll(() => spool.state.records, SOON).toBe(0)
  expect(logged().a).toEqual(['1', '2', '1', '1', '2', '3'])
  expect(spool.state.damagedFiles).toBe(0)
})

/** Creates a disk on which an operation fails for paths that end with `end`, as long as `code` is set. */
function brokenDisk(operation: 'open' | 'list' | 'copy', end: string) {
  const state: { code: string | undefined } = { code: 'EIO' }
  const failing = (path: string): void => {
    if (state.code !== undefined && path.endsWith(end)) throw Object.assign(new Error(`${state.code}: ${path}`), { code: state.code })
  }
  const files: SpoolFiles = {
    ...diskFiles,
    async [operation](path: string, to: string) {
      failing(path)
      return await diskFiles[operation](path, to)
    },
  }
  return { state, files }
}

test.for([
  { operation: 'open', end: LATER },
  { operation: 'open', end: '.sent' },
  { operation: 'list', end: DEAD },
  { operation: 'copy', end: LATER },
] as const)('if $operation fails for $end, the spool starts, reports the folder, and sends its records later', async (fault) => {
  const sent = Buffer.alloc(0)
  const folder = await deadFolder({ [SEGMENT]: whole, '00000001.sent': sent, [LATER]: damagedAt(whole.length - 1) })
  const { files, state } = brokenDisk(fault.operation, fault.end)
  const { spool, facts, logged } = await spoolWorld({ folder, files, retryUnreadableMs: 5 })
  expect(await facts.publishOrSpool(plain, 'b', 'new', { ...QUICK, withinMs: 60_000 })).toBe('acknowledged')
  expect(spool.state).toMatchObject({ records: 0, unreadableFolders: [DEAD] })
  expect(await spoolProbe(spool, Date.now).check()).toContain(DEAD)
  expect((await readdir(join(folder, DEAD))).toSorted()).toEqual([SEGMENT, '00000001.sent', LATER, 'lock'])
  state.code = undefined
  await expect.poll(() => logged().a, SOON).toEqual(['1', '2', '3', '1', '2'])
  expect(spool.state.unreadableFolders).toEqual([])
  expect(await spoolProbe(spool, Date.now).check()).toBeUndefined()
})

test('a folder whose lock is damaged is reported, and files of other programs are ignored', async () => {
  const folder = await deadFolder({ [SEGMENT]: whole, lock: Buffer.alloc(4_096, 'x') })
  await writeFile(join(folder, 'note.txt'), 'not a folder')
  const { spool } = await spoolWorld({ folder })
  expect(spool.state.unreadableFolders).toEqual([DEAD])
})

test('a folder that no process of the API has created is left unchanged', async () => {
  const folder = await spoolFolder()
  await mkdir(join(folder, 'snapshots'))
  await writeFile(join(folder, 'snapshots', 'a.snapshot'), 'of another program')
  await spoolWorld({ folder })
  expect(await readdir(join(folder, 'snapshots'))).toEqual(['a.snapshot'])
})

test('records are sent in the order in which their processes started, even if the clock goes back between two starts', async () => {
  const folder = await spoolFolder()
  for (const [index, at] of [2_000, 1_000, 1_500].entries()) {
    const dead = await spoolWorld({ folder, isConnected: false, now: () => at })
    await dead.facts.publishOrSpool(plain, `${index}`, 'v', QUICK)
    await dead.facts.publishOrSpool(plain, 'a', `${index}`, QUICK)
    await dead.close()
    // The process leaves its own folder and those of the earlier processes. It has adopted the latter, but cannot send
    // their records without Kafka.
    await expect.poll(async () => (await readdir(folder)).length, SOON).toBe(index + 1)
  }
  const { logged } = await spoolWorld({ folder })
  await expect.poll(() => logged().a, SOON).toEqual(['0', '1', '2'])
})

test('a folder that was not renamed to its final name is removed after a day, unless a process has locked it', async () => {
  const folder = await spoolFolder()
  const madeAt = 1_800_000_000_000
  const [dead, alive, recent] = [0, 1, DAY_MS].map((offset) => `.${String(madeAt + offset).padStart(15, '0')}-id`)
  for (const name of [dead, alive, recent]) await mkdir(join(folder, name))
  const release = lockFile(join(folder, alive, 'lock'))
  await spoolWorld({ folder, now: () => madeAt + DAY_MS + 1 })
  expect((await readdir(folder)).filter((name) => name.startsWith('.')).toSorted()).toEqual([alive, recent])
  release?.()
})
