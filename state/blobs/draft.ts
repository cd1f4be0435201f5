import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createZstdCompress, type ZstdCompress, constants as zlib, zstdCompress, zstdCompressSync } from 'node:zlib'

/** A blob as it is stored: zstd and a stamp, in memory or in a file that its owner deletes. */
export type PackedBlob =
  | { readonly kind: 'memory'; readonly bytes: Uint8Array }
  | { readonly kind: 'file'; readonly path: string; readonly length: number }

/** Content on its way into the store. */
export interface BlobDraft {
  /** Resolves when more may come: the writer waits for the disk. */
  write(piece: Uint8Array): Promise<void>
  /** Bytes written so far. */
  readonly bytes: number
  /** No more comes. */
  finish(): Promise<{ hash: string; bytes: number }>
  /** After `finish`. */
  packed(): PackedBlob
  /** Deletes what there is of it; after that it is of no use. May be called at any time, and again. */
  discard(): Promise<void>
}

/** Most content is smaller: it is never written to a draft file. */
const MEMORY_BYTES = 65_536
/** Compressed in a tenth of a millisecond: a turn of the thread pool would cost more. */
const AT_ONCE_BYTES = 16_384
/**
 * A window of 256 KiB and small tables: about 1 MiB per stream instead of 10, for a few percent of size on long content.
 * The frame's own checksum finds damage as soon as it is read.
 */
const ZSTD_PARAMS = {
  [zlib.ZSTD_c_compressionLevel]: 3,
  [zlib.ZSTD_c_checksumFlag]: 1,
  [zlib.ZSTD_c_windowLog]: 18,
  [zlib.ZSTD_c_hashLog]: 16,
  [zlib.ZSTD_c_chainLog]: 16,
}
/** A frame that zstd readers skip: magic number, length, random bytes. No two drafts are the same bytes, whatever their content. */
const STAMP_MAGIC = 0x184d2a50
const STAMP_HEADER_BYTES = 8
const STAMP_RANDOM_BYTES = 8
const compress = promisify(zstdCompress)

export function openDraft(folder: string): BlobDraft {
  const hash = createHash('sha256')
  let bytes = 0
  let pieces: Uint8Array[] = []
  let spill: SpillFile | undefined
  let result: PackedBlob | undefined

  async function write(piece: Uint8Array): Promise<void> {
    if (piece.byteLength === 0) return
    hash.update(piece)
    bytes += piece.byteLength
    if (spill !== undefined) return await spill.write(piece)
    // The piece may be a view of a buffer that its owner reuses.
    pieces.push(Buffer.from(piece))
    if (bytes <= MEMORY_BYTES) return
    spill = await openSpill(folder)
    for (const held of pieces) await spill.write(held)
    pieces = []
  }

  async function finish(): Promise<{ hash: string; bytes: number }> {
    if (spill === undefined) {
      const content = Buffer.concat(pieces)
      const options = { params: ZSTD_PARAMS }
      const packed = content.byteLength <= AT_ONCE_BYTES ? zstdCompressSync(content, options) : await compress(content, options)
      result = { kind: 'memory', bytes: Buffer.concat([packed, stamp()]) }
      pieces = []
    } else {
      result = { kind: 'file', path: spill.path, length: await spill.end() }
    }
    return { hash: hash.digest('hex'), bytes }
  }

  return {
    write,
    finish,
    get bytes() {
      return bytes
    },
    packed() {
      if (result === undefined) throw new Error('the draft is not finished')
      return result
    },
    async discard() {
      pieces = []
      await spill?.remove()
      spill = undefined
    },
  }
}

function stamp(): Buffer {
  const header = Buffer.alloc(STAMP_HEADER_BYTES)
  header.writeUInt32LE(STAMP_MAGIC, 0)
  header.writeUInt32LE(STAMP_RANDOM_BYTES, 4)
  return Buffer.concat([header, randomBytes(STAMP_RANDOM_BYTES)])
}

interface SpillFile {
  readonly path: string
  write(piece: Uint8Array): Promise<void>
  /** @returns its length */
  end(): Promise<number>
  remove(): Promise<void>
}

/** A file that what is written to it goes into compressed. */
async function openSpill(folder: string): Promise<SpillFile> {
  await mkdir(folder, { recursive: true })
  const path = join(folder, `${randomUUID()}.draft`)
  const file: FileHandle = await open(path, 'wx')
  const packer: ZstdCompress = createZstdCompress({ params: ZSTD_PARAMS })
  let length = 0
  let isClosed = false

  async function copy(): Promise<void> {
    for await (const piece of packer) {
      const { bytesWritten } = await file.write(piece as Buffer)
      if (bytesWritten !== (piece as Buffer).byteLength) throw new Error('the disk took only a part of a draft')
      length += bytesWritten
    }
  }
  const copied = copy()
  // Its failure is told by `end`, or by the next write.
  copied.catch((error: Error) => packer.destroy(error))

  async function close(): Promise<void> {
    if (isClosed) return
    isClosed = true
    await file.close()
  }

  return {
    path,
    async write(piece) {
      if (packer.write(piece)) return
      await Promise.race([new Promise((resolve) => packer.once('drain', resolve)), copied])
    },
    async end() {
      packer.end()
      await copied
      length += (await file.write(stamp())).bytesWritten
      await file.sync()
      await close()
      return length
    },
    async remove() {
      packer.destroy()
      await copied.catch(() => undefined)
      await close()
      await unlink(path).catch((error: NodeJS.ErrnoException) => {
        // A folder shelf has renamed it.
        if (error.code !== 'ENOENT') throw error
      })
    },
  }
}
