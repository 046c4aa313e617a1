import Events
import Foundation
import JSON
import PipelineRuntime

/// Builds the payloads of the payload stage with Foundation, without regard to speed. It is one of the two baselines of
/// the bench.
enum FoundationPayload {
    private typealias Object = [String: Any]

    /// - Returns: The number of payloads, at most `countMax`.
    static func build(from input: PayloadBenchInput, atMost countMax: Int) throws -> Int {
        var count = 0
        try input.readLines { line in
            guard count < countMax else { return }
            _ = try JSONSerialization.data(withJSONObject: try payload(of: Data(line)))
            count += 1
        }
        return count
    }

    /// Compares the payloads of the payload stage with the payloads that Foundation builds.
    ///
    /// - Parameters:
    ///   - pushes: The stage's output lines for the first notifications.
    ///   - body: Called with the length of each payload.
    /// - Throws: ``ToolFailure`` with status 70 for the first payload that differs.
    static func compare(_ pushes: [UInt8], with input: PayloadBenchInput, _ body: (Int) -> Void) throws {
        var payloads: [(bytes: Int, object: NSDictionary)] = []
        var parser = JSONParser()
        try pushes.withUnsafeBytes { bytes in
            for line in Lines(bytes) {
                guard let payload = try parser.parse(line)["payload"] else { continue }
                payloads.append((payload.raw.count, NSDictionary(dictionary: try object(Data(payload.raw)))))
            }
        }
        var index = 0
        try input.readLines { line in
            guard index < payloads.count else { return }
            guard payloads[index].object.isEqual(to: try payload(of: Data(line))) else {
                throw ToolFailure(.software, "payload \(index + 1) differs from the payload that Foundation builds")
            }
            body(payloads[index].bytes)
            index += 1
        }
    }

    private static func object(_ data: Data) throws -> Object {
        try JSONSerialization.jsonObject(with: data) as? Object ?? [:]
    }

    private static func payload(of data: Data) throws -> Object {
        let notification = try object(data)
        let info = notification["notificationInfo"] as? Object ?? [:]
        let values = (notification["fields"] as? Object ?? [:]).compactMapValues { ($0 as? Object)?["value"] }
        return ["aps": aps(info, values), "ck": ck(notification, info, values)]
    }

    private static func aps(_ info: Object, _ values: Object) -> Object {
        var alert = Object()
        alert["title"] = info["title"]
        alert["loc-key"] = info["alertLocalizationKey"]
        alert["loc-args"] = names("alertLocalizationArgs", of: info).map { String("\(values[$0] ?? "")".prefix(100)) }
        var aps: Object = ["alert": alert]
        aps["sound"] = info["soundName"]
        return aps
    }

    private static func ck(_ notification: Object, _ info: Object, _ values: Object) -> Object {
        let zone = notification["zoneID"] as? Object
        var (query, ck) = (Object(), Object())
        query["af"] = Dictionary(
            names("desiredKeys", of: info).compactMap { name in values[name].map { (name, shortened($0)) } }
        ) { first, _ in first }
        query["dbs"] = 1
        query["fo"] = notification["reason"] as? String == "update" ? 2 : 1
        query["rid"] = notification["recordName"]
        query["sid"] = notification[Member.subscriptionID.description]
        query["zid"] = zone?["zoneName"]
        query["zoid"] = notification[Member.user.description]
        ck["ce"] = notification["environment"] as? String == "production" ? 1 : 2
        ck["cid"] = notification["container"]
        ck["ckuserid"] = notification[Member.user.description]
        ck["nid"] = notification["notificationID"]
        ck["qry"] = query
        return ck
    }

    private static func names(_ key: String, of info: Object) -> [String] { info[key] as? [String] ?? [] }

    private static func shortened(_ value: Any) -> Any { (value as? String).map { String($0.prefix(100)) } ?? value }
}
