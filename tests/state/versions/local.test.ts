import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { BlobsUnavailableError } from '../../../state/blobs/blob-store.ts'
import { BlobCorruptError } from '../../../state/blobs/read.ts'
import { localVersions } from '../../../state/versions/local.ts'
import { checkVersion, type FileVersion, VersionRefusedError } from '../../../state/versions/version.ts'
import { versionsWorld } from './world.ts'

const { blobs, blobFolder, folder, publish, pathOfBlob } = versionsWorld()
const HOURS_MS = 3_600_000
const local = localVersions({ blobs, folder, now: Date.now })
const long = Buffer.alloc(700_000, 'vectors ')

function partials() {
  return readdirSync(folder).filter((name) => name.startsWith('.partial-'))
}

it('all files of a version, stored uncompressed, are fetched into one folder', async () => {
  const version = await publish(1, { vectors: long, 'trees.txt': 'tree' })
  expect(statSync(pathOfBlob(version.files[0].hash)).size).toBeGreaterThanOrEqual(long.byteLength)
  const place = await local.fetch(version)
  expect(readFileSync(join(place, 'vectors')).equals(long)).toBe(true)
  expect(readFileSync(join(place, 'trees.txt'), 'utf8')).toBe('tree')
  expect(partials()).toEqual([])
})

it('files that are in the local folder are not fetched again, and a damaged local file is repaired', async () => {
  const version = await publish(2, { vectors: Buffer.alloc(100_000, 'two') })
  const place = await local.fetch(version)
  const inode = statSync(join(place, 'vectors')).ino
  expect(statSync(join(await local.fetch(version), 'vectors')).ino).toBe(inode)
  const damaged = readFileSync(join(place, 'vectors'))
  damaged[50_000] ^= 1
  writeFileSync(join(place, 'vectors'), damaged)
  await local.fetch(version)
  expect(readFileSync(join(place, 'vectors')).equals(Buffer.alloc(100_000, 'two'))).toBe(true)
  expect(partials()).toEqual([])
})

it('a blob that is damaged, truncated or missing is refused, and no files of the version are left', async () => {
  const version = await publish(3, { 'trees.txt': 'fine', vectors: Buffer.alloc(300_000, 'three') })
  const path = pathOfBlob(version.files[1].hash)
  const stored = readFileSync(path)
  const damaged = Buffer.from(stored)
  damaged[200_000] ^= 1
  writeFileSync(path, damaged)
  await expect(local.fetch(version)).rejects.toThrow(BlobCorruptError)
  writeFileSync(path, stored)
  truncateSync(path, 150_000)
  await expect(local.fetch(version)).rejects.toThrow()
  rmSync(path)
  await expect(local.fetch(version)).rejects.toThrow(BlobsUnavailableError)
  expect(existsSync(join(folder, 'version-v3'))).toBe(false)
  expect(partials()).toEqual([])
})

it('a blob is closed when its local file cannot be created', async () => {
  const version = await publish(20, { vectors: 'twenty' })
  const close = vi.fn()
  /** Opens a blob, and removes the folder to which its file would be written. */
  async function open(hash: string) {
    const blob = (await blobs.open(hash))!
    for (const partial of partials()) rmSync(join(folder, partial), { recursive: true })
    blob.close()
    return { ...blob, close }
  }
  await expect(localVersions({ blobs: { open }, folder, now: Date.now }).fetch(version)).rejects.toThrow('ENOENT')
  expect(close).toHaveBeenCalledOnce()
})

it('a version whose record states a wrong length for a blob is refused', async () => {
  const version = await publish(4, { vectors: 'four' })
  for (const bytes of [3, 5]) {
    await expect(local.fetch({ ...version, files: [{ ...version.files[0], bytes }] })).rejects.toThrow(VersionRefusedError)
  }
})

it('several callers may fetch the same version at once', async () => {
  const version = await publish(5, { vectors: long.subarray(0, 400_000) })
  const places = await Promise.all([1, 2, 3].map(() => localVersions({ blobs, folder, now: Date.now }).fetch(version)))
  expect(new Set(places).size).toBe(1)
  expect(readFileSync(join(places[0], 'vectors')).equals(long.subarray(0, 400_000))).toBe(true)
})

it('after a fetch was killed, the incomplete version is never visible, a later fetch gets the whole version, and the remains are removed', async () => {
  const version = await publish(6, { 'trees.txt': 'six', vectors: Buffer.alloc(900_000, 'six') })
  const child = spawn(process.execPath, [join(import.meta.dirname, 'children/fetcher.ts'), blobFolder, folder, JSON.stringify(version)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'close')
  expect(partials()).toHaveLength(1)
  expect(existsSync(join(folder, 'version-v6'))).toBe(false)

  const place = await local.fetch(version)
  expect(readFileSync(join(place, 'vectors')).equals(Buffer.alloc(900_000, 'six'))).toBe(true)
  await local.keepOnly([version])
  expect(partials()).toHaveLength(1)
  writeFileSync(join(folder, 'unrelated'), 'of somebody else')
  await localVersions({ blobs, folder, now: () => Date.now() + 2 * HOURS_MS }).keepOnly([version])
  expect(readdirSync(folder).sort()).toEqual(['unrelated', 'version-v6'])
})

const file = { name: 'vectors', hash: '0'.repeat(64), bytes: 1 }
const fine: FileVersion = { version: 'v1', sequence: 1, files: [file] }

it.each<[string, Partial<FileVersion>]>([
  ['a name that leads out of the folder', { version: '../v1' }],
  ['a file name that leads out of the folder', { files: [{ ...file, name: '../vectors' }] }],
  ['a hidden file', { files: [{ ...file, name: '.partial-1' }] }],
  ['two files with the same name', { files: [file, file] }],
  ['no files', { files: [] }],
  ['an invalid hash', { files: [{ ...file, hash: 'abc' }] }],
  ['a negative length', { files: [{ ...file, bytes: -1 }] }],
  ['the sequence 0', { sequence: 0 }],
])('a version with %s is refused', (_, fault) => {
  expect(() => checkVersion(fine)).not.toThrow()
  expect(() => checkVersion({ ...fine, ...fault })).toThrow(VersionRefusedError)
})
