import { z } from 'zod'
import { list } from '../../settings/variables.ts'
import { isAddressRange } from './client-address.ts'

/** Accepts a comma-separated list of addresses and CIDR ranges. */
export const addressList = list.pipe(z.array(z.string().refine(isAddressRange, 'must be addresses or CIDR ranges')))
