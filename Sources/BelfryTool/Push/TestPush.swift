import Events
import Foundation
import JSON
import PipelineKit

/// The push of `belfry push test`.
struct TestPush {
    let apnsID: String
    let delivery: Delivery

    /// - Parameter payload: One JSON object, without line feeds.
    init(_ device: TestDevice, payload: [UInt8]) {
        apnsID = UUID().uuidString.lowercased()
        var head = ByteBuffer()
        head.append("{")
        head.append("notificationID", apnsID)
        head.append(.user, device.user)
        head.append("device", device.name)
        head.append("transport", device.transport)
        head.append("token", device.token)
        head.append(member: .headers)
        head.append("{")
        head.append("apns-id", apnsID)
        head.append("apns-topic", device.app.topic)
        var rest = ByteBuffer()
        rest.append(
            Self.isSilent(payload)
                ? ",\"apns-push-type\":\"background\",\"apns-priority\":\"5\""
                : ",\"apns-push-type\":\"alert\",\"apns-priority\":\"10\"")
        rest.append(",\"apns-expiration\":\"0\"},\"payload\":")
        payload.withUnsafeBytes { rest.append($0) }
        rest.append(member: .causes)
        rest.append("[]}")
        delivery = Delivery(
            id: .init(push: 0, device: device.name), transport: device.transport, app: device.app,
            head: Array(head.bytes), rest: Array(rest.bytes))
    }

    /// Removes the blanks between JSON values, and sorts the members of objects.
    ///
    /// - Throws: ``ToolFailure`` with status 65 if the payload is not a JSON object with an object `aps`.
    static func compact(_ bytes: [UInt8], from file: String) throws -> [UInt8] {
        var parser = JSONParser()
        return try bytes.withUnsafeBytes { bytes in
            let isPayload: Bool
            do throws(JSONError) {
                let json = try parser.parse(bytes)
                isPayload = json.isObject && json["aps"]?.isObject ?? false
            } catch { throw ToolFailure(.badData, "\(file): \(error)") }
            guard isPayload else {
                throw ToolFailure(.badData, "\(file): the payload is not a JSON object, or has no object \"aps\"")
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
}

/// Describes a transport's answer to a test push, for people or as JSON.
struct PushTestReport {
    let answer: TransportAnswer
    let device: TestDevice
    let push: TestPush
    let remedy: String?

    var json: String {
        ByteBuffer.object {
            $0.append(.outcome, answer.outcome.rawValue)
            $0.append("transport", device.transport)
            $0.append("device", device.name)
            $0.append("apns-id", push.apnsID)
            $0.append("status", answer.status)
            $0.append("reason", answer.reason)
            $0.append("apns-unique-id", answer.receipt)
            $0.append("attempts", answer.attempts)
            $0.append("fix", remedy)
        }.text
    }

    var text: String { sentence + (remedy.map { "\ndo: " + $0 } ?? "") }

    private var sentence: String {
        let reason = answer.isUnderWay ? "no answer yet" : answer.reason?.withoutControls
        let why = [answer.status.map(String.init), reason].joined().map { ": " + $0 } ?? ""
        let name = device.user.isEmpty ? "the token" : "\(device.name) of \(device.user)"
        switch answer.outcome {
        case .accepted: return "accepted for \(name) by \(device.transport)\(why), apns-id \(push.apnsID)"
        case .deferred:
            return "not accepted for \(name) by \(device.transport)\(why) (a pipeline would try again later)"
        default: return "refused for \(name) by \(device.transport)\(why)"
        }
    }
}
