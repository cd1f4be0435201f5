import { mkdirSync } from 'node:fs'
import type { Server } from 'node:http'
import S3rver from '@20minutes/s3rver'

/** Starts a server for the S3 protocol on a free port, with one bucket. Key and secret are S3RVER. */
export async function startS3(directory: string, bucket: string): Promise<Server> {
  mkdirSync(directory, { recursive: true })
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    // Unlike S3, it does not sign list requests.
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: bucket }],
  })
  await server.run()
  return server.httpServer
}
