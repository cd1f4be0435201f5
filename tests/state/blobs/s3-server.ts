import { mkdirSync } from 'node:fs'
import type { Server } from 'node:http'
import S3rver from '@20minutes/s3rver'

/** Starts an S3-compatible server with one bucket on a free port. Access key and secret key are both S3RVER. */
export async function startS3(directory: string, bucket: string): Promise<Server> {
  mkdirSync(directory, { recursive: true })
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    // Unlike S3, this server cannot verify signatures of list requests.
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: bucket }],
  })
  await server.run()
  return server.httpServer
}
