import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { S3Client } from '@aws-sdk/client-s3'
import { erasureTimes } from '../erasure.ts'
import { type BlobStore, blobStore, UNTOUCHED_MS } from './blob-store.ts'
import { bucketShelf } from './bucket.ts'
import { draftFolderOf, folderShelf } from './folder.ts'
import { withKeptContents } from './kept-contents.ts'

export interface BlobSettings {
  /** `file:///var/lib/millrace/blobs` or `s3://bucket/prefix`. */
  readonly url: string
  /**
   * URL of a server that implements the S3 API; undefined selects AWS. The AWS SDK finds credentials and the region in
   * its usual places.
   */
  readonly s3Endpoint: string | undefined
  /**
   * A blob in S3 that was touched within this time is not touched again; see `ErasureTimes`. The default is a minute.
   */
  readonly renewAfterMs?: number
  /** Default true. False for content that compression hardly shrinks, such as images and the vectors of models. */
  readonly compresses?: boolean
}

const RENEW_AFTER_MS = erasureTimes(3_600_000).renewAfterMs
/**
 * Time limit for the first bytes of an answer from S3, and for each pause between its bytes. S3 begins to return a
 * small blob within tens of milliseconds.
 */
const S3_TIMEOUT_MS = 10_000
const S3_CONNECT_TIMEOUT_MS = 2_000
/** Region for self-hosted servers, which require one in the signature but accept any value. */
const ANY_REGION = 'us-east-1'

/**
 * Connects to the blob store and removes old drafts that killed writers left on this host. `sweepBlobs` also removes
 * such drafts.
 * @throws Error when the URL is neither a file: nor an s3: URL
 */
export async function connectBlobs(settings: BlobSettings): Promise<BlobStore> {
  const store = await storeAt(settings)
  // A failed cleanup does not prevent the store from working.
  await store.removeOldDrafts(Date.now() - UNTOUCHED_MS).catch(() => undefined)
  return withKeptContents(store)
}

async function storeAt({ url, s3Endpoint, compresses, renewAfterMs = RENEW_AFTER_MS }: BlobSettings): Promise<BlobStore> {
  const { protocol, hostname, pathname } = new URL(url)
  if (protocol === 'file:') {
    const root = fileURLToPath(url)
    return blobStore({ shelf: folderShelf(root), draftFolder: draftFolderOf(root), compresses })
  }
  if (protocol !== 's3:') throw new Error(`blobs at ${url}: must be a file: or s3: URL`)
  const client = await s3Client(s3Endpoint)
  const prefix = pathname === '/' || pathname === '' ? '' : `${pathname.slice(1).replace(/\/+$/, '')}/`
  const shelf = await bucketShelf({ client, bucket: hostname, prefix, renewAfterMs, timeoutMs: S3_TIMEOUT_MS, now: Date.now })
  return blobStore({ shelf, draftFolder: join(tmpdir(), 'millrace-drafts'), compresses })
}

/**
 * @param endpoint undefined selects AWS
 * @param timeoutMs see `S3_TIMEOUT_MS`
 */
export async function s3Client(endpoint: string | undefined, timeoutMs = S3_TIMEOUT_MS): Promise<S3Client> {
  const { S3Client } = await import('@aws-sdk/client-s3')
  return new S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true, region: ANY_REGION }),
    // Without `throwOnRequestTimeout`, the SDK logs a warning after the time limit, and goes on waiting.
    requestHandler: { requestTimeout: timeoutMs, throwOnRequestTimeout: true, connectionTimeout: S3_CONNECT_TIMEOUT_MS },
    // Some S3-compatible servers do not support the newer checksums. Blobs are verified by their hash, so the checksums
    // are not needed.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
}
