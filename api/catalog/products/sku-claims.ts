import { skuFlow } from '../../../schemas/catalog/skus/flow.ts'
import { skuCommands } from '../../../schemas/catalog/skus/topics.ts'
import type { SkuAction } from '../../../schemas/catalog/types.ts'
import type { OpenCommand } from '../../kit/commands/commands.ts'
import { ApiError } from '../../kit/errors.ts'
import type { Facts } from '../../kit/facts.ts'
import { catalogErrors } from '../errors.ts'

/** The skus that a request claims for a product. */
export interface Claimed {
  readonly productId: number
  /** Id of the claim, which is the same for every repetition of the request. */
  readonly claimId: string
  readonly skus: readonly string[]
}

export interface SkuClaims {
  /**
   * Claims all of the skus, with one command per partition of skus.
   * @param step distinguishes this claim from other claims of the same command
   * @returns the time at which the earliest sku was claimed, epoch ms
   * @throws ApiError `sku_taken`; in that case, the other skus are released
   */
  claim(open: OpenCommand, claimed: Claimed, step: string): Promise<number>
  /** Releases skus after the product could not be stored. If a release fails, the claim expires. */
  release(open: OpenCommand, claimed: Claimed, step: string): Promise<void>
}

export function skuClaims(facts: Pick<Facts, 'partitionOf'>): SkuClaims {
  /** Returns the skus grouped by partition, in an order that is the same for every repetition. */
  function groups(skus: readonly string[]): (readonly [partition: number, skus: string[]])[] {
    return [...Map.groupBy([...skus].sort(), (sku) => facts.partitionOf(skuCommands, sku))]
  }

  function ask(open: OpenCommand, action: SkuAction, { productId, claimId, skus }: Claimed, step: string) {
    return groups(skus).map(([partition, own]) => {
      const body = { action, product_id: productId, claim_id: claimId, skus: own }
      return open.run(skuFlow, own[0], body, `${step}-${action}-${partition}`)
    })
  }

  async function release(open: OpenCommand, claimed: Claimed, step: string): Promise<void> {
    await Promise.allSettled(ask(open, 'release', claimed, step))
  }

  return {
    async claim(open, claimed, step) {
      const answers = await Promise.all(ask(open, 'claim', claimed, step))
      const taken = answers.find((answer) => answer.outcome === 'taken')
      if (taken !== undefined) {
        await release(open, claimed, step)
        throw new ApiError(catalogErrors.sku_taken, {
          message: `The sku ${taken.sku} belongs to another variant. Choose another sku.`,
          fields: { sku: taken.sku },
        })
      }
      return Math.min(...answers.flatMap((answer) => (answer.outcome === 'claimed' ? [answer.claimed_at] : [])))
    },
    release,
  }
}
