import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

export interface ArchivedFile {
  readonly path: string
  readonly text: string
}

const BLOCK_BYTES = 512
const SIZE_AT = 124
const SIZE_LENGTH = 12
const NAME_LENGTH = 100
const PREFIX_AT = 345
const PREFIX_LENGTH = 155

/** Yields the non-empty files of a .tar.gz archive (ustar). */
export function* filesOf(archive: string): Generator<ArchivedFile> {
  const tar = gunzipSync(readFileSync(archive))
  for (let at = 0; at + BLOCK_BYTES <= tar.length; ) {
    const header = tar.subarray(at, at + BLOCK_BYTES)
    const name = textAt(header, 0, NAME_LENGTH)
    if (name === '') break
    const prefix = textAt(header, PREFIX_AT, PREFIX_LENGTH)
    const size = Number.parseInt(textAt(header, SIZE_AT, SIZE_LENGTH), 8)
    const start = at + BLOCK_BYTES
    const isFile = !name.endsWith('/') && size > 0
    if (isFile) yield { path: prefix === '' ? name : `${prefix}/${name}`, text: tar.toString('utf8', start, start + size) }
    at = start + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
  }
}

function textAt(header: Buffer, at: number, length: number): string {
  const field = header.subarray(at, at + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? length : end).trim()
}
