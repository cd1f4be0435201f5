/**
 * The part of a schema registry that serdes use. It is implemented by kafka/registry.ts (Confluent's REST API) and
 * kafka/memory/registry.ts.
 */
export interface SchemaRegistry {
  /**
   * Registers a schema and returns its id. The same schema always gets the same id. Rejects with the registry's reason
   * when the schema is incompatible with earlier versions of the subject.
   */
  register(subject: string, schemaJsonText: string): Promise<number>
  /**
   * Returns the schema as JSON. Rejects with SchemaNotFoundError if the registry has no Avro schema with this id,
   * and with another error if it returns no usable answer.
   */
  schemaById(schemaId: number): Promise<string>
}

/**
 * Thrown when the registry has no Avro schema with this id. In that case the record was written with a different
 * registry or in a different format.
 */
export class SchemaNotFoundError extends Error {
  override readonly name = 'SchemaNotFoundError'
  readonly schemaId: number
  constructor(schemaId: number, reason = `the schema registry has no schema with id ${schemaId}`) {
    super(reason)
    this.schemaId = schemaId
  }
}
