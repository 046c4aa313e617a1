import EventLog
import JSON

/// The keys in which two records of settings differ. Values are not shown, since they may be secret.
enum SettingsDifference {
    /// Key paths in alphabetical order, such as `transports.apns.apps[2].topic`. If only one record has a key, or if
    /// two lists have different lengths, the path of this key or list stands for everything below it. If the records
    /// differ and one of them is not JSON, the result is only `settings`.
    static func keys(of record: String, _ other: String) -> [String] {
        if record == other { return [] }
        do throws(JSONError) {
            return try SettingsHistory.withJSON(record) { one throws(JSONError) in
                try SettingsHistory.withJSON(other) { keys(of: one, $0, at: "") }
            }
        } catch {
            return ["settings"]
        }
    }

    private static func keys(of one: JSONValue, _ other: JSONValue, at path: String) -> [String] {
        if one.raw.elementsEqual(other.raw) { return [] }
        if one.isObject, other.isObject { return keys(ofObjects: one, other, at: path) }
        guard one.isArray, other.isArray, one.count == other.count else { return [path] }
        return zip(one.elements, other.elements).enumerated().flatMap { index, pair in
            keys(of: pair.0, pair.1, at: "\(path)[\(index)]")
        }
    }

    private static func keys(ofObjects one: JSONValue, _ other: JSONValue, at path: String) -> [String] {
        let (one, other) = (members(of: one), members(of: other))
        return Set(one.keys).union(other.keys).sorted().flatMap { name in
            let place = path.isEmpty ? name : "\(path).\(name)"
            guard let one = one[name], let other = other[name] else { return [place] }
            return keys(of: one, other, at: place)
        }
    }

    private static func members(of object: JSONValue) -> [String: JSONValue] {
        Dictionary(object.members.map { ($0.string ?? "", $1) }) { $1 }
    }
}
