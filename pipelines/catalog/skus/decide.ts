import { CLAIM_MS } from '../../../schemas/catalog/products/limits.ts'
import type { SkuAnswer } from '../../../schemas/catalog/skus/flow.ts'
import type { SkuCommand, SkuOwner, SkuUse } from '../../../schemas/catalog/types.ts'
import { type Decided, type KeyedStore, type RowChange, type RowChanges, type Rows, row, type TimerStore } from '../../engine/index.ts'

export interface SkuStores {
  readonly owners: KeyedStore<string, SkuOwner>
  /** The time at which each unused claim ends. */
  readonly ends: TimerStore<string>
}

type SkuDecision = Decided<SkuOwner, SkuAnswer>

interface SkuFacts {
  /** Epoch ms. */
  readonly now: number
  readonly rows: Pick<Rows, 'get'>
}

/** Decides requests about skus. A claim applies to all skus of the request or to none. */
export function skuDecider({ owners, ends }: SkuStores) {
  function claim({ product_id, claim_id, skus }: SkuCommand, { now, rows }: SkuFacts): SkuDecision {
    const taken = skus.find((sku) => (rows.get(owners, sku)?.product_id ?? product_id) !== product_id)
    // An expired claim remains valid until the tick of this topology ends it, because a record about the use of the sku
    // may still be on its way.
    if (taken !== undefined) return { answer: { outcome: 'taken', sku: taken } }
    const ends_at = now + CLAIM_MS
    const puts = skus.flatMap((sku): RowChange[] => {
      const before = rows.get(owners, sku)
      if (before !== undefined && before.claim === null) return []
      const is_shared = before?.claim != null && (before.claim.is_shared || before.claim.claim_id !== claim_id)
      return [row(owners, sku, { product_id, claim: { claim_id, is_shared, ends_at } }), row(ends, sku, ends_at)]
    })
    return { answer: { outcome: 'claimed', claimed_at: now }, puts }
  }

  /** Releases the skus that the request has claimed, except for skus that the product uses or another request needs. */
  function release({ product_id, claim_id, skus }: SkuCommand, { rows }: SkuFacts): SkuDecision {
    const own = skus.filter((sku) => {
      const owner = rows.get(owners, sku)
      return owner?.product_id === product_id && owner.claim?.claim_id === claim_id && !owner.claim.is_shared
    })
    return { answer: { outcome: 'released' }, puts: own.flatMap(freed) }
  }

  function freed(sku: string): RowChange[] {
    return [row(owners, sku, null), row(ends, sku, null)]
  }

  return {
    decide(_owner: SkuOwner | undefined, command: SkuCommand, facts: SkuFacts): SkuDecision {
      return command.action === 'claim' ? claim(command, facts) : release(command, facts)
    },

    /**
     * Records that a product has begun or ceased to use the sku.
     * @returns undefined if the product uses a sku that belongs to a different product; only a bug can cause this
     */
    use(sku: string, owner: SkuOwner | undefined, { product_id, is_used }: SkuUse): RowChanges | undefined {
      if (owner !== undefined && owner.product_id !== product_id) return is_used ? undefined : {}
      if (!is_used) return { puts: owner === undefined ? [] : freed(sku) }
      return { puts: [row(owners, sku, { product_id, claim: null }), row(ends, sku, null)] }
    },

    /** Ends an unused claim. */
    end: (sku: string): RowChanges => ({ puts: freed(sku) }),
  }
}
