import { openModel } from '../../../api/recommendations/model/open.ts'
import { writeManifest } from './bundle.ts'
import { type Factorisation, factorise } from './factorise.ts'
import { type JudgedList, learnToRank } from './rank.ts'

export interface Training extends Factorisation {
  /** Lists that were shown or replayed. */
  readonly lists: readonly JudgedList[]
  readonly sequence: number
  /** Epoch ms. */
  readonly trainedAt: number
}

/**
 * Trains a whole bundle. Then opens it as the API does, so that a bundle that the API would refuse is never published.
 * @returns the name of the version
 */
export async function trainBundle({ lists, sequence, trainedAt, ...training }: Training): Promise<string> {
  const { folder, tools, python, seed, signal } = training
  const factorised = await factorise(training)
  await learnToRank({ folder, tools, python, lists, seed, signal })
  await writeManifest(folder, factorised, sequence, trainedAt)
  const model = await openModel(folder)
  model.close()
  return model.version
}
