"""A client built on librdkafka. It shares no code with the transport, so the transport's tests compare the two.

librdkafka.py write BROKERS
    runs the steps that it reads from standard input, as JSON:
    {"options": {...}, "steps": [["send", producer, topic, partition, value] | ["commit", producer] | ["abort", producer]]}
    Each send is flushed, so that it is a separate batch in the log, even if its transaction is aborted later.
librdkafka.py bulk BROKERS
    writes the values that it reads from standard input, as JSON, without transactions:
    {"options": {...}, "topic": ..., "partition": ..., "values": [...]}
librdkafka.py read BROKERS TOPIC PARTITION END
    prints the records that a read_committed consumer receives before the offset END, as JSON:
    [[offset, key, value, {header: value}], ...]
"""

import json
import sys
import time
import uuid

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

DEADLINE_SECONDS = 30


def text(data):
    return None if data is None else data.decode()


def write(brokers):
    job = json.load(sys.stdin)
    producers = {}
    open_transactions = set()
    for step in job["steps"]:
        name = step[1]
        if name not in producers:
            producer = Producer(
                {"bootstrap.servers": brokers, "transactional.id": f"{name}-{uuid.uuid4()}", **job.get("options", {})}
            )
            producer.init_transactions(DEADLINE_SECONDS)
            producers[name] = producer
        producer = producers[name]
        if step[0] == "send":
            if name not in open_transactions:
                producer.begin_transaction()
                open_transactions.add(name)
            producer.produce(step[2], value=step[4], partition=step[3])
            if producer.flush(DEADLINE_SECONDS) > 0:
                raise RuntimeError("not delivered")
        elif name in open_transactions:
            open_transactions.discard(name)
            if step[0] == "commit":
                producer.commit_transaction(DEADLINE_SECONDS)
            else:
                producer.abort_transaction(DEADLINE_SECONDS)


def bulk(brokers):
    job = json.load(sys.stdin)
    failed = []
    producer = Producer({"bootstrap.servers": brokers, "linger.ms": 20, **job.get("options", {})})
    for value in job["values"]:
        producer.produce(
            job["topic"],
            key=f"key of {value}"[:40],
            value=value,
            partition=job["partition"],
            headers={"from": "librdkafka"},
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    if producer.flush(DEADLINE_SECONDS) > 0 or failed:
        raise RuntimeError(f"not delivered: {failed}")


def read(brokers, topic, partition, end):
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": str(uuid.uuid4()),
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    consumer.assign([TopicPartition(topic, int(partition), 0)])
    seen = []
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is None:
            continue
        if message.error():
            if message.error().code() == KafkaError._PARTITION_EOF and message.offset() >= int(end):
                break
            if message.error().code() != KafkaError._PARTITION_EOF:
                raise RuntimeError(message.error())
            continue
        headers = {name: text(value) for name, value in message.headers() or []}
        seen.append([message.offset(), text(message.key()), text(message.value()), headers])
    else:
        raise RuntimeError(f"the end {end} was not reached")
    consumer.close()
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    {"write": write, "bulk": bulk, "read": read}[sys.argv[1]](*sys.argv[2:])
