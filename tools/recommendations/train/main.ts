import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BUNDLE_FILES, MANIFEST_FILE } from '../../../api/recommendations/model/manifest.ts'
import { connectBlobs } from '../../../state/blobs/connect.ts'
import { publishFiles } from '../../../state/versions/publish.ts'
import { readCatalogue } from '../history/catalogue.ts'
import { connectHistory } from '../history/connect.ts'
import { exportHistory } from '../history/export.ts'
import { servedLists } from '../history/served.ts'
import { exportShown } from '../history/shown.ts'
import { type ChildJob, childJobSchema } from './child-job.ts'
import { readTrainingConfig } from './config.ts'
import { openInForce } from './in-force.ts'
import { BUNDLE_FOLDER, trainVersion } from './train-version.ts'

/**
 * The training program. A worker starts it with the path of a job file. The program writes the result next to the job
 * file. If the result puts a version into force, the program stores the files of that version first. The program ends
 * when its standard input is closed, because this means that the worker has ended.
 */
async function main(file: string): Promise<void> {
  const job = childJobSchema.parse(JSON.parse(await readFile(file, 'utf8')))
  const stopping = new AbortController()
  process.stdin.on('end', () => stopping.abort()).on('error', () => stopping.abort())
  process.stdin.resume()
  await writeFile(join(job.folder, 'result.json'), JSON.stringify(await train(job, stopping.signal)))
  process.stdin.destroy()
}

async function train(job: ChildJob, signal: AbortSignal) {
  const settings = readTrainingConfig()
  const { folder, in_force, sequence, trained_at, tools, python } = job
  const blobs = await connectBlobs(settings.state.models)
  const client = connectHistory(settings.state.clickhouse)
  try {
    const catalogue = await readCatalogue(settings.kafka, signal)
    const history = await exportHistory(client, { before: trained_at, isKnown: (itemId) => catalogue.items.has(itemId), signal })
    const model = in_force === null ? undefined : await openInForce(in_force, { blobs, folder: join(folder, 'in-force') })
    const outcome = await trainVersion({
      folder,
      tools,
      python: python ?? undefined,
      history,
      catalogue,
      shown: await exportShown(client, trained_at, signal),
      inForce: model && in_force ? { model, trainedAt: in_force.trained_at } : undefined,
      servedLists: (before) => servedLists(client, history, { before, signal }),
      sequence,
      trainedAt: trained_at,
      // The seed may be any number. It is not random, so that the same job and the same data give the same model.
      seed: sequence,
      signal,
    })
    model?.close()
    if (outcome.state !== 'IN_FORCE') return outcome
    const names = [...BUNDLE_FILES, MANIFEST_FILE]
    const published = await publishFiles({ version: outcome.version, sequence }, { blobs, folder: join(folder, BUNDLE_FOLDER), names })
    return { ...outcome, files: published.files }
  } finally {
    await client.close()
  }
}

main(process.argv[2]).catch((error: Error) => {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
})
