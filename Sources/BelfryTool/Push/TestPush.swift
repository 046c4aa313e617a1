import Events
import Foundation
import JSON
import PipelineKit

/// A push that no stage made.
struct TestPush {
    let apnsID: String
    let delivery: Delivery

    /// - Parameter payload: One JSON object, without line feeds.
    init(_ device: TestDevice, payload: [UInt8]) {
        apnsID = UUID().uuidString.lowercased()
        let isSilent = Self.isSilent(payload)
        var head = ByteBuffer()
        Self.write(
            [("notificationID", apnsID), (Member.user.description, device.user), ("device", device.name)], to: &head)
        head.append(",")
        Self.write([("transport", device.transport), ("token", device.token)], isFirst: false, to: &head)
        head.append(member: .headers)
        var headers = [("apns-id", apnsID)]
        if let topic = device.app.topic { headers.append(("apns-topic", topic)) }
        Self.write(headers, to: &head)
        var rest = ByteBuffer()
        rest.append(",")
        let kind = [("apns-push-type", isSilent ? "background" : "alert"), ("apns-priority", isSilent ? "5" : "10")]
        Self.write(kind + [("apns-expiration", "0")], isFirst: false, to: &rest)
        rest.append("},\"payload\":")
        payload.withUnsafeBytes { rest.append($0) }
        rest.append(member: .causes)
        rest.append("[]}")
        delivery = Delivery(
            id: .init(push: 0, device: device.name), transport: device.transport, app: device.app,
            head: Array(head.bytes), rest: Array(rest.bytes))
    }

    /// Without what JSON may have between its values.
    static func compact(_ bytes: [UInt8], from file: String) throws -> [UInt8] {
        var parser = JSONParser()
        return try bytes.withUnsafeBytes { bytes in
            let isPayload: Bool
            do throws(JSONError) {
                let json = try parser.parse(bytes)
                isPayload = json.isObject && json["aps"]?.isObject ?? false
            } catch { throw ToolFailure(.badData, "\(file): \(error)") }
            guard isPayload else {
                throw ToolFailure(.badData, "\(file): a payload is a JSON object with an object \"aps\"")
            }
            let object = try JSONSerialization.jsonObject(with: Data(bytes))
            return Array(
                try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]))
        }
    }

    private static func isSilent(_ payload: [UInt8]) -> Bool {
        var parser = JSONParser()
        return payload.withUnsafeBytes { bytes in
            do throws(JSONError) {
                guard let aps = try parser.parse(bytes)["aps"] else { return false }
                return aps["alert"] == nil && aps[.badge] == nil && aps["sound"] == nil
            } catch { return false }
        }
    }

    private static func write(_ members: [(String, String)], isFirst: Bool = true, to buffer: inout ByteBuffer) {
        for (index, (key, value)) in members.enumerated() {
            buffer.append(index > 0 ? "," : isFirst ? "{" : "")
            buffer.appendJSON(key)
            buffer.append(":")
            buffer.appendJSON(value)
        }
    }
}

/// What a transport said to a test.
struct PushTestReport {
    private let answer: TransportAnswer
    private let device: TestDevice
    private let push: TestPush
    private let remedy: String?

    init(_ answer: TransportAnswer, _ device: TestDevice, _ push: TestPush, remedy: String?) {
        (self.answer, self.device, self.push, self.remedy) = (answer, device, push, remedy)
    }

    var json: String {
        var members: [(String, ReportValue)] = [
            (Member.outcome.description, .text(answer.outcome.rawValue)), ("transport", .text(device.transport)),
            ("device", .text(device.name)), ("apns-id", .text(push.apnsID)),
        ]
        if let status = answer.status { members.append(("status", .count(status))) }
        if let reason = answer.reason { members.append(("reason", .text(reason))) }
        if let receipt = answer.receipt { members.append(("apns-unique-id", .text(receipt))) }
        members.append(("attempts", .count(answer.attempts)))
        if let remedy { members.append(("fix", .text(remedy))) }
        return ReportValue.object(members.map { ReportValue.Member(key: $0.0, value: $0.1) }).json
    }

    var text: String { said + (remedy.map { "\ndo: " + $0 } ?? "") }

    private var said: String {
        let reason = answer.isUnderWay ? "no answer yet" : answer.reason?.withoutControls
        let words = [answer.status.map(String.init), reason].compactMap { $0 }
        let said = words.isEmpty ? "" : ": " + words.joined(separator: " ")
        let name = device.user.isEmpty ? "the token" : "\(device.name) of \(device.user)"
        switch answer.outcome {
        case .accepted: return "accepted for \(name) by \(device.transport)\(said), apns-id \(push.apnsID)"
        case .deferred: return "not sent to \(name): \(device.transport) would try again later\(said)"
        default: return "refused for \(name) by \(device.transport)\(said)"
        }
    }
}
