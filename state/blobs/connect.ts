import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { S3Client } from '@aws-sdk/client-s3'
import { type BlobStore, blobStore, UNTOUCHED_MS } from './blob-store.ts'
import { bucketShelf } from './bucket.ts'
import { draftFolderOf, folderShelf } from './folder.ts'
import { withKeptContents } from './kept-contents.ts'

export interface BlobSettings {
  /** `file:///var/lib/millrace/blobs` or `s3://bucket/prefix`. */
  readonly url: string
  /** A server that speaks S3's protocol; undefined: AWS. Keys and region come from where the AWS SDK looks for them. */
  readonly s3Endpoint: string | undefined
}

const RENEW_AFTER_MS = UNTOUCHED_MS / 2
/** A small blob takes tens of milliseconds; the request that waits for it has a limit of its own. */
const S3_TIMEOUT_MS = 10_000
const S3_CONNECT_TIMEOUT_MS = 2_000
/** Servers of one's own need a region in the signature, whatever it is. */
const ANY_REGION = 'us-east-1'

/**
 * Drafts that killed writers have left on this host are removed. Those beside blobs in a folder are, too, by every sweep.
 * @throws Error when the URL is neither a file's nor a bucket's
 */
export async function connectBlobs(settings: BlobSettings): Promise<BlobStore> {
  const store = await storeAt(settings)
  // What is in the way of that now is not in the way of blobs.
  await store.removeOldDrafts(Date.now() - UNTOUCHED_MS).catch(() => undefined)
  return withKeptContents(store)
}

async function storeAt({ url, s3Endpoint }: BlobSettings): Promise<BlobStore> {
  const { protocol, hostname, pathname } = new URL(url)
  if (protocol === 'file:') {
    const root = fileURLToPath(url)
    return blobStore({ shelf: folderShelf(root), draftFolder: draftFolderOf(root) })
  }
  if (protocol !== 's3:') throw new Error(`blobs at ${url}: must be a file: or s3: URL`)
  const client = await s3Client(s3Endpoint)
  const prefix = pathname === '/' || pathname === '' ? '' : `${pathname.slice(1).replace(/\/+$/, '')}/`
  const shelf = await bucketShelf({ client, bucket: hostname, prefix, renewAfterMs: RENEW_AFTER_MS, now: Date.now })
  return blobStore({ shelf, draftFolder: join(tmpdir(), 'millrace-drafts') })
}

/** @param endpoint undefined: AWS */
export async function s3Client(endpoint: string | undefined): Promise<S3Client> {
  const { S3Client } = await import('@aws-sdk/client-s3')
  return new S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true, region: ANY_REGION }),
    requestHandler: { requestTimeout: S3_TIMEOUT_MS, connectionTimeout: S3_CONNECT_TIMEOUT_MS },
    // Other servers do not know the newer checksums; content has its own.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
}
