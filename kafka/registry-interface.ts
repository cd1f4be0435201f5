/** What serdes need of a schema registry. Implementations: kafka/registry.ts (Confluent's REST interface), kafka/memory/registry.ts. */
export interface SchemaRegistry {
  /** Registers a schema (the same schema gets the same id). Rejects with the registry's reason when it is incompatible with the subject's earlier ones. */
  register(subject: string, schemaJsonText: string): Promise<number>
  /**
   * The schema's JSON. Rejects with SchemaNotFoundError when the registry answers that it has none, and with any other error when it could not be asked.
   */
  schemaById(schemaId: number): Promise<string>
}

/** The registry was asked and has no schema with this id: the record was written against another registry, or is not in the wire format. */
export class SchemaNotFoundError extends Error {
  override readonly name = 'SchemaNotFoundError'
  readonly schemaId: number
  constructor(schemaId: number) {
    super(`the schema registry has no schema with id ${schemaId}`)
    this.schemaId = schemaId
  }
}
