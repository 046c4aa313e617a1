import CloudKitModel
import JSON
import Predicates

/// One element of a query's `sortBy`.
struct SortKey: Sendable {
    let subject: Clause.Subject
    let isAscending: Bool
    /// The point from which the distances of locations are measured; nil if records are not sorted by distance.
    let centre: Circle?

    func key(_ fields: JSONValue?, _ system: SystemValues) -> [UInt8] {
        guard let centre else { return OrderKey.of(subject, fields, system) }
        guard case .field(let name) = subject, let place = FieldView(field: fields?.member(name)).coordinate else {
            return OrderKey.missing
        }
        return OrderKey.of(centre.distance(latitude: place.latitude, longitude: place.longitude))
    }
}

/// Reads `sortBy` (CloudKit Web Services Reference: Sort Descriptor Dictionary).
enum SortReader {
    // Belfry's own limit: each key makes the marker longer.
    private static let keysMax = 10

    static func keys(_ sortBy: JSONValue?) throws(QueryRefusal) -> [SortKey] {
        guard let sortBy, !sortBy.isNull else { return [] }
        guard sortBy.isArray, sortBy.count <= keysMax else {
            throw QueryRefusal(
                "query.sort", at: "query.sortBy", "sortBy is not an array of at most \(keysMax) sort descriptors")
        }
        var keys: [SortKey] = []
        for descriptor in sortBy.elements { keys.append(try key(descriptor, "query.sortBy[\(keys.count)]")) }
        return keys
    }

    private static let members: [StaticString] = ["fieldName", "systemFieldName", "ascending", "relativeLocation"]

    private static func key(_ descriptor: JSONValue, _ path: String) throws(QueryRefusal) -> SortKey {
        guard descriptor.isObject else {
            throw QueryRefusal("query.sort", at: path, "the sort descriptor is not an object")
        }
        for (key, _) in descriptor.members where !members.contains(where: { key.equals($0) }) {
            let name = String((key.string ?? "").prefix(64))
            throw QueryRefusal(
                "query.sort", at: "\(path).\(name)",
                "there is no member \"\(name)\" here: \(Spelling.advice(for: name, among: members))")
        }
        let ascending = descriptor["ascending"]
        guard ascending == nil || ascending?.bool != nil else {
            throw QueryRefusal("query.sort", at: "\(path).ascending", "ascending is neither true nor false")
        }
        let subject = try subject(descriptor, path)
        return SortKey(
            subject: subject, isAscending: ascending?.bool ?? true, centre: try centre(descriptor, subject, path))
    }

    private static func subject(_ descriptor: JSONValue, _ path: String) throws(QueryRefusal) -> Clause.Subject {
        let (field, system) = (descriptor["fieldName"], descriptor["systemFieldName"])
        guard (field == nil) != (system == nil) else {
            throw QueryRefusal(
                "query.sort", at: path,
                "the sort descriptor has \(field == nil ? "neither fieldName nor" : "both fieldName and") systemFieldName; "
                    + "give one of them")
        }
        if let system {
            guard let found = system.string.flatMap({ SystemField(inFilter: $0) }) else {
                let names = SystemField.allCases.map(\.filterName).joined(separator: ", ")
                throw QueryRefusal(
                    "query.sort", at: "\(path).systemFieldName", "there is no such system field; use one of \(names)")
            }
            return .system(found)
        }
        return try fieldSubject(field?.string, "\(path).fieldName")
    }

    /// Names that no app's field can have, such as `___createTime`, mean system fields.
    private static func fieldSubject(_ name: String?, _ path: String) throws(QueryRefusal) -> Clause.Subject {
        if let name, NameRule.fieldName.accepts(name) { return .field(name) }
        guard let system = name.flatMap({ SystemField(inText: $0) }) else {
            throw QueryRefusal("query.sort", at: path, NameRule.fieldName.rule)
        }
        return .system(system)
    }

    private static func centre(
        _ descriptor: JSONValue, _ subject: Clause.Subject, _ path: String
    ) throws(QueryRefusal) -> Circle? {
        guard let location = descriptor["relativeLocation"], !location.isNull else { return nil }
        guard case .field = subject, let place = FieldView(value: location["value"] ?? location).coordinate else {
            throw QueryRefusal(
                "query.sort", at: "\(path).relativeLocation",
                "relativeLocation is not {\"value\":{\"latitude\":…,\"longitude\":…}}, or the descriptor names a system "
                    + "field; give a location, and the fieldName of a field of the app")
        }
        return Circle(latitude: place.latitude, longitude: place.longitude, radius: 0)
    }
}
