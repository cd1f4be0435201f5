import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, type Transform } from 'node:stream'
import { promisify } from 'node:util'
import { createZstdCompress, constants as zlib, zstdCompress, zstdCompressSync } from 'node:zlib'

/**
 * A blob in its stored form, in memory or in a file, which `discard` deletes. The bytes of a draft are either zstd
 * followed by a stamp, or a stamp followed by uncompressed content.
 */
export type PackedBlob =
  | { readonly kind: 'memory'; readonly bytes: Uint8Array }
  | { readonly kind: 'file'; readonly path: string; readonly length: number }

/** Content that is being written to the store. */
export interface BlobDraft {
  /** Resolves when the next piece may be written, so that a slow disk slows down the writer. */
  write(piece: Uint8Array): Promise<void>
  /** Number of bytes written so far. */
  readonly bytes: number
  /** Ends the content; nothing may be written afterwards. */
  finish(): Promise<{ hash: string; bytes: number }>
  /** Returns the stored form of the content. May only be called after `finish`. */
  packed(): PackedBlob
  /** Deletes the draft, which must not be used afterwards. May be called at any time, and more than once. */
  discard(): Promise<void>
}

/** Maximum size of a draft in memory. Most content is smaller, so it stays in memory until it is stored. */
const MEMORY_BYTES = 65_536
/**
 * Maximum size of content that is compressed synchronously. Compressing this much takes a tenth of a millisecond;
 * handing it to the thread pool would cost more.
 */
const AT_ONCE_BYTES = 16_384
/**
 * A window of 256 KiB and small tables reduce the memory of a compression stream from 10 MiB to about 1 MiB, but make
 * long content a few percent larger. The checksum in the frame detects damage while the blob is read.
 */
const ZSTD_PARAMS = {
  [zlib.ZSTD_c_compressionLevel]: 3,
  [zlib.ZSTD_c_checksumFlag]: 1,
  [zlib.ZSTD_c_windowLog]: 18,
  [zlib.ZSTD_c_hashLog]: 16,
  [zlib.ZSTD_c_chainLog]: 16,
}
/**
 * Magic number of a stamp. A stamp is a skippable zstd frame: magic number, length and random bytes. It makes the bytes
 * of every draft unique, even for equal content.
 */
const STAMP_MAGIC = 0x184d2a50
/** Magic number of a stamp that is followed by uncompressed content. Readers recognise uncompressed content by it. */
export const PLAIN_MAGIC = 0x184d2a51
const STAMP_HEADER_BYTES = 8
const STAMP_RANDOM_BYTES = 8
export const STAMP_BYTES = STAMP_HEADER_BYTES + STAMP_RANDOM_BYTES
const compress = promisify(zstdCompress)

/** Options for packing blobs. Readers accept compressed and uncompressed blobs. */
export interface DraftOptions {
  /** False for content that is compressed already, such as images. */
  readonly compresses: boolean
}

export function openDraft(folder: string, { compresses }: DraftOptions): BlobDraft {
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
    // The piece is copied, because it may be a view of a buffer that its owner reuses.
    pieces.push(Buffer.from(piece))
    if (bytes <= MEMORY_BYTES) return
    spill = await openSpill(folder, compresses)
    for (const held of pieces) await spill.write(held)
    pieces = []
  }

  async function finish(): Promise<{ hash: string; bytes: number }> {
    if (spill === undefined) {
      const content = Buffer.concat(pieces)
      result = { kind: 'memory', bytes: compresses ? await compressed(content) : Buffer.concat([stamp(PLAIN_MAGIC), content]) }
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
      if (result === undefined) throw new Error('the draft was used before it was finished')
      return result
    },
    async discard() {
      pieces = []
      await spill?.remove()
      spill = undefined
    },
  }
}

async function compressed(content: Buffer): Promise<Buffer> {
  const options = { params: ZSTD_PARAMS }
  const packed = content.byteLength <= AT_ONCE_BYTES ? zstdCompressSync(content, options) : await compress(content, options)
  return Buffer.concat([packed, stamp(STAMP_MAGIC)])
}

function stamp(magic: number): Buffer {
  const header = Buffer.alloc(STAMP_HEADER_BYTES)
  header.writeUInt32LE(magic, 0)
  header.writeUInt32LE(STAMP_RANDOM_BYTES, 4)
  return Buffer.concat([header, randomBytes(STAMP_RANDOM_BYTES)])
}

interface SpillFile {
  readonly path: string
  write(piece: Uint8Array): Promise<void>
  /** @returns the length of the file in bytes */
  end(): Promise<number>
  remove(): Promise<void>
}

/** Opens a file that stores everything written to it in packed form. */
async function openSpill(folder: string, compresses: boolean): Promise<SpillFile> {
  await mkdir(folder, { recursive: true })
  const path = join(folder, `${randomUUID()}.draft`)
  const file: FileHandle = await open(path, 'wx')
  const packer: Transform = compresses ? createZstdCompress({ params: ZSTD_PARAMS }) : new PassThrough()
  let length = 0
  let isClosed = false

  async function append(bytes: Buffer): Promise<void> {
    // Unlike `write`, `writeFile` writes everything or fails with the error of the disk. A disk that becomes full may
    // accept only the first bytes of a write.
    await file.writeFile(bytes)
    length += bytes.byteLength
  }

  async function copy(): Promise<void> {
    for await (const piece of packer) {
      await append(piece as Buffer)
    }
  }
  if (!compresses) packer.write(stamp(PLAIN_MAGIC))
  const copied = copy()
  // A failed copy makes the next `write` or `end` fail.
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
      if (compresses) await append(stamp(STAMP_MAGIC))
      await file.sync()
      await close()
      return length
    },
    async remove() {
      packer.destroy()
      await copied.catch(() => undefined)
      await close()
      await unlink(path).catch((error: NodeJS.ErrnoException) => {
        // The file may be gone, because a folder shelf has already renamed it.
        if (error.code !== 'ENOENT') throw error
      })
    },
  }
}
