import type { Endpoint } from '../network.ts'

export interface SimulatedBroker extends Endpoint {
  readonly nodeId: number
  readonly host: string
  readonly port: number
}

export type CoordinatorKind = 'group' | 'transaction'
