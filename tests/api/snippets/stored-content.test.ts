import { expect, test } from 'vitest'
import { errors } from '../../../api/kit/errors.ts'
import { readContent } from '../../../api/snippets/stored-content.ts'
import { BlobsUnavailableError } from '../../../state/blobs/blob-store.ts'

test('small content is unavailable if the blob store fails while the content is read', async () => {
  async function* content(): AsyncGenerator<Buffer> {
    yield Buffer.from('part')
    throw new BlobsUnavailableError('the bucket does not respond')
  }
  const reading = readContent({ content, close() {} }, { bytes: 8 } as never)
  await expect(reading).rejects.toMatchObject({ definition: errors.unavailable })
})
