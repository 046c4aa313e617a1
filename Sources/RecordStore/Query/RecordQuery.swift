import CloudKitModel
import Events
import JSON
import Predicates
import Time

/// A checked query.
package struct RecordQuery: Sendable {
    /// CloudKit Web Services: at most 200 records in an answer.
    package static let resultsMax = 200

    /// The zones that a query searches.
    package enum Zones: Sendable, Hashable {
        case one(ZoneKey)
        /// All zones of the database (`zoneWide`).
        case all
    }

    let zones: Zones
    let recordType: String
    let predicate: RecordPredicate
    let sort: [SortKey]
    let limit: Int
    let marker: String?
    /// The query in its canonical form. A marker is valid only for a query with an equal canonical form.
    let canonical: [UInt8]

    /// - Parameters:
    ///   - query: `{"recordType":…,"filterBy":…,"sortBy":…}`; its `predicate` and `arguments` may replace `filterBy`.
    ///   - limit: `resultsLimit`; nil for the maximum.
    ///   - marker: `continuationMarker`, if the request has one.
    /// - Throws: The first rule that the query breaks.
    package init(
        _ query: JSONValue, in zones: Zones = .one(.defaultZone), limit: Int? = nil, marker: String? = nil,
        reader: PredicateReader = PredicateReader()
    ) throws(QueryRefusal) {
        guard query.isObject else { throw QueryRefusal("query.type", at: "query", "the query is not an object") }
        guard query[.recordType] != nil else {
            throw QueryRefusal("query.type", at: "query.recordType", "is required: name the type of the records")
        }
        guard let type = query[.recordType]?.string, NameRule.recordType.accepts(type) else {
            throw QueryRefusal("query.type", at: "query.recordType", NameRule.recordType.rule)
        }
        do { predicate = try reader.read(query: query, warns: false).predicate } catch { throw QueryRefusal(error) }
        sort = try SortReader.keys(query["sortBy"])
        guard (1...RecordQuery.resultsMax).contains(limit ?? 1) else {
            throw QueryRefusal(
                "query.limit", at: "resultsLimit",
                "resultsLimit is \(limit ?? 1); it must be from 1 to \(RecordQuery.resultsMax)")
        }
        (self.zones, recordType, self.marker) = (zones, type, marker)
        self.limit = limit ?? RecordQuery.resultsMax
        canonical = query.canonical
    }

    /// The order of the results.
    var order: RecordOrder { RecordOrder(areAscending: sort.map(\.isAscending)) }
}

/// One page of a query's results.
package struct QueryPage: Sendable {
    package let records: [StoredRecord]
    /// The text that continues the query after these records; nil after the last record.
    package let marker: String?
}
