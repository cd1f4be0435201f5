import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import { BlobsUnavailableError } from './blob-store.ts'
import type { PackedBlob } from './draft.ts'
import type { BlobHash, BlobShelf, ShelvedBlob } from './shelf.ts'

export interface BucketOptions {
  readonly client: S3Client
  readonly bucket: string
  /** Prefix of every key. It is empty or ends with a slash. */
  readonly prefix: string
  /**
   * Age of the last touch above which `touch` returns false. The caller then stores the blob again, because S3 has no
   * touch operation. The age must be well below the age at which sweeps may remove a blob.
   */
  readonly renewAfterMs: number
  /** Time limit for the next bytes of an answer, in ms. A put gets additional time to send its bytes. */
  readonly timeoutMs: number
  /** Epoch ms. */
  now(): number
}

type S3 = typeof import('@aws-sdk/client-s3')

const SUFFIX = '.zst'
/**
 * Minimum speed that an upload is assumed to have (1 MB/s). It determines the additional time that a put gets for its
 * bytes.
 */
const SLOWEST_UPLOAD_BYTES_PER_MS = 1_000
const NOT_FOUND = 404
const CONFLICT = 409
const PRECONDITION_FAILED = 412
/**
 * Statuses of a conditional DELETE that did not delete the object. Since the object was inspected, another process has
 * deleted it or stored it again, or is doing so at the same time.
 */
const CHANGED = [NOT_FOUND, CONFLICT, PRECONDITION_FAILED]
/**
 * Name of the error for a bucket that does not exist, for example while the bucket is being restored. Its status is
 * 404, as for a missing object, but it does not mean that the object is gone.
 */
const NO_BUCKET = 'NoSuchBucket'

/**
 * Stores blobs in an S3 bucket or on a server that implements the S3 API. An object's LastModified is the time of its
 * last touch. Each draft contains a random stamp, so two puts of the same content have different ETags. A sweep can
 * therefore delete exactly the object that it has inspected.
 */
export async function bucketShelf({ client, bucket, prefix, renewAfterMs, timeoutMs, now }: BucketOptions): Promise<BlobShelf> {
  const s3: S3 = await import('@aws-sdk/client-s3')
  const at = (hash: BlobHash) => ({ Bucket: bucket, Key: `${prefix}${hash}${SUFFIX}` })

  async function head(hash: BlobHash) {
    return await unlessStatus([NOT_FOUND], client.send(new s3.HeadObjectCommand(at(hash))))
  }

  async function touch(hash: BlobHash): Promise<boolean> {
    const found = await head(hash)
    return found?.LastModified !== undefined && found.LastModified.getTime() > now() - renewAfterMs
  }

  async function put(hash: BlobHash, blob: PackedBlob): Promise<void> {
    const file = blob.kind === 'file' ? createReadStream(blob.path) : undefined
    const ContentLength = blob.kind === 'memory' ? blob.bytes.byteLength : blob.length
    const Body = blob.kind === 'memory' ? blob.bytes : file
    const command = new s3.PutObjectCommand({ ...at(hash), Body, ContentLength, ContentType: 'application/octet-stream' })
    // The SDK does not listen for errors of the file, and an error without a listener would end the process.
    const unreadable = new AbortController()
    file?.once('error', (error) => unreadable.abort(error))
    const requestTimeout = timeoutMs + ContentLength / SLOWEST_UPLOAD_BYTES_PER_MS
    try {
      const sent = client.send(command, { requestTimeout, abortSignal: unreadable.signal })
      await asking(sent.catch((error: unknown) => Promise.reject(unreadable.signal.reason ?? error)))
    } finally {
      // After a failure, the SDK leaves the file open.
      file?.destroy()
    }
  }

  async function open(hash: BlobHash): Promise<Readable | undefined> {
    const found = await unlessStatus([NOT_FOUND], client.send(new s3.GetObjectCommand(at(hash))))
    if (found === undefined) return undefined
    const body = found.Body as Readable
    // The number of connections is limited, so a blob that is closed unread must release its connection. The loop in
    // `piecesOf` destroys the answer when it ends, but it never starts if nothing is read. This listener therefore
    // destroys the answer as well.
    return Readable.from(piecesOf(body, timeoutMs), { objectMode: false }).once('close', () => body.destroy())
  }

  async function* list(): AsyncGenerator<ShelvedBlob> {
    let ContinuationToken: string | undefined
    do {
      const page = await asking(client.send(new s3.ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken })))
      for (const { Key, LastModified } of page.Contents ?? []) {
        const hash = Key!.slice(prefix.length, -SUFFIX.length)
        if (/^[0-9a-f]{64}$/.test(hash)) yield { hash, touchedAt: LastModified!.getTime() }
      }
      ContinuationToken = page.NextContinuationToken
    } while (ContinuationToken !== undefined)
  }

  async function removeUntouched(hash: BlobHash, before: number): Promise<boolean> {
    const found = await head(hash)
    if (found?.LastModified === undefined || found.LastModified.getTime() >= before) return false
    const removal = client.send(new s3.DeleteObjectCommand({ ...at(hash), IfMatch: found.ETag }))
    return (await unlessStatus(CHANGED, removal)) !== undefined
  }

  return { touch, put, open, list, removeUntouched }
}

interface S3Failure extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number }
}

async function unlessStatus<T>(statuses: readonly number[], work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    const { name, $metadata } = error as S3Failure
    const status = $metadata?.httpStatusCode
    if (status !== undefined && statuses.includes(status) && name !== NO_BUCKET) return undefined
    throw unavailable(error)
  }
}

async function asking<T>(work: Promise<T>): Promise<T> {
  return (await unlessStatus([], work))!
}

/**
 * Yields the pieces of an answer. The time limit counts only while this process waits for bytes, because a slow reader
 * may ask for the next piece late.
 */
async function* piecesOf(body: Readable, timeoutMs: number): AsyncGenerator<Buffer, void, undefined> {
  const late = () => body.destroy(new Error(`no bytes arrived for ${timeoutMs} ms`))
  let timer = setTimeout(late, timeoutMs)
  try {
    for await (const piece of body) {
      clearTimeout(timer)
      yield piece as Buffer
      timer = setTimeout(late, timeoutMs)
    }
  } catch (error) {
    throw unavailable(error)
  } finally {
    clearTimeout(timer)
  }
}

function unavailable(error: unknown): BlobsUnavailableError {
  return new BlobsUnavailableError(`a request to the bucket failed: ${(error as Error).message}`, { cause: error })
}
