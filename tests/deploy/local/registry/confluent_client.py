"""Produces and consumes with the ordinary Confluent client, as a user's own program would.

Arguments: brokers, registry URL, topic, count. Creates the topic and registers schemas. Deletes the schemas, but not
the topic, at the end. Prints one JSON object with its observations.
"""
import json
import sys

from confluent_kafka import DeserializingConsumer, SerializingProducer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import StringDeserializer, StringSerializer

brokers, registry_url, topic, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])

FIRST = {
    "type": "record", "name": "Payment", "namespace": "test",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
}
SECOND = {**FIRST, "fields": FIRST["fields"] + [{"name": "amount", "type": "double", "default": 0.5}]}
BROKEN = {**FIRST, "fields": FIRST["fields"] + [{"name": "currency", "type": "string"}]}


def main():
    registry = SchemaRegistryClient({"url": registry_url})
    admin = AdminClient({"bootstrap.servers": brokers})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result()

    def produce(schema, values):
        producer = SerializingProducer({
            "bootstrap.servers": brokers, "partitioner": "murmur2_random",
            "key.serializer": StringSerializer(), "value.serializer": AvroSerializer(registry, json.dumps(schema)),
        })
        for value in values:
            producer.produce(topic, key=str(value["id"]), value=value)
        assert producer.flush(20) == 0

    produce(FIRST, [{"id": 2**60 + n, "note": None if n % 2 else "æ"} for n in range(count)])
    produce(SECOND, [{"id": n, "note": "x", "amount": n / 4} for n in range(count)])

    refused = None
    try:
        produce(BROKEN, [{"id": 1, "note": None, "currency": "EUR"}])
    except Exception as error:  # The serializer may wrap the registry's error.
        refused = str(error)

    consumer = DeserializingConsumer({
        "bootstrap.servers": brokers, "group.id": topic + "-readers", "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "key.deserializer": StringDeserializer(), "value.deserializer": AvroDeserializer(registry, json.dumps(SECOND)),
    })
    consumer.subscribe([topic])
    seen = []
    while len(seen) < 2 * count:
        message = consumer.poll(20)
        assert message is not None and message.error() is None, message and message.error()
        seen.append(message.value())
    consumer.close()

    subject = topic + "-value"
    latest = registry.get_latest_version(subject)
    test_level = registry.set_compatibility(subject, "FULL")
    print(json.dumps({
        "ids": sorted(v["id"] for v in seen),
        "amounts": sum(v["amount"] for v in seen),
        "refused": refused,
        "versions": registry.get_versions(subject),
        "latest": {"version": latest.version, "fields": len(json.loads(latest.schema.schema_str)["fields"])},
        "same_id": registry.register_schema(subject, Schema(json.dumps(SECOND, indent=3), "AVRO")) == latest.schema_id,
        "lookup": registry.lookup_schema(subject, Schema(json.dumps(FIRST), "AVRO")).version,
        "compatible": registry.test_compatibility(subject, Schema(json.dumps(BROKEN), "AVRO")),
        "level": registry.get_compatibility(subject),
        "level_set": test_level["compatibility"],
        "deleted": registry.delete_subject(subject),
        # This test needs a new client, because the first client caches the latest version.
        "gone": gone(SchemaRegistryClient({"url": registry_url}), subject),
    }))


def gone(registry, subject):
    try:
        registry.get_latest_version(subject)
    except SchemaRegistryError as error:
        return [error.http_status_code, error.error_code]


main()
