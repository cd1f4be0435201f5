"""Answers searches with Tantivy.

Reads lines of JSON from the standard input: documents, then `null`, then searches. Answers `null` with a line when the
documents can be searched. Answers each search with a list that begins with the number of the search and the number of
documents that match.
"""

import json
import sys

import tantivy

HEAP_BYTES = 256 * 1024 * 1024
FACETS = ("brand", "category", "price_band", "rating_band", "attributes")
HITS = 24
LISTED = 50


def schema():
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("product_id", stored=True, fast=True)
    builder.add_text_field("title", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("words", tokenizer_name="en_stem")
    for name in FACETS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    return builder.build()


def filled(lines):
    index = tantivy.Index(schema())
    writer = index.writer(HEAP_BYTES, 2)
    for line in lines:
        document = json.loads(line)
        if document is None:
            break
        writer.add_document(tantivy.Document(**document))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def main():
    lines = iter(sys.stdin.readline, "")
    index = filled(lines)
    searcher = index.searcher()
    print("null", flush=True)
    counted = {name: {"terms": {"field": name, "size": LISTED}} for name in FACETS}
    for line in lines:
        number, words = json.loads(line)
        query = tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, index.parse_query(f'"{word}"', ["words"])) for word in words]
        )
        found = searcher.search(query, HITS, count=True)
        titles = [searcher.doc(address)["title"] for _, address in found.hits]
        facets = searcher.aggregate(query, counted)
        print(json.dumps([number, found.count, len(titles), len(facets)]), flush=True)


main()
