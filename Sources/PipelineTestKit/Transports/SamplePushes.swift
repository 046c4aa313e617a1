import Events
import JSON
import PipelineKit

/// Makes pushes for transport checks. Each sequence has its own `apns-id`. The pushes of another check have other
/// `apns-id`s, because each check draws a random number for them.
struct SamplePushes: Sendable {
    let app: Delivery.App
    let transport: String
    private let run = UInt64.random(in: 0..<1 << 32)

    /// - Parameter first: The sequence of the first push.
    func batch(_ count: Int, from first: UInt64) -> [Delivery] {
        (0..<UInt64(count)).map { push(first + $0) }
    }

    /// A push to one of fifteen devices.
    func push(_ sequence: UInt64) -> Delivery {
        var line = ByteBuffer()
        line.append("{")
        line.append("notificationID", apnsID(sequence))
        line.append(
            raw: ",\"\(Member.user)\":\"_user\(sequence % 3)\",\"device\":\"\(device(sequence))\",\"transport\":")
        line.appendJSON(transport)
        line.append(raw: ",\"token\":\"\(String(repeating: digits(sequence % 15, 2), count: 32))\",\"headers\":{")
        line.append(raw: "\"apns-id\":\"\(apnsID(sequence))\",\"apns-topic\":")
        line.appendJSON(app.topic ?? "com.example.Notes")
        line.append(",\"apns-push-type\":\"alert\",\"apns-priority\":\"10\"},")
        line.append(raw: "\"payload\":{\"aps\":{\"alert\":\"Push \(sequence)\"},\"ck\":{}},\"\(Member.causes)\":[]}")
        return delivery(sequence, Array(line.bytes))
    }

    /// A delivery whose line is not a push.
    func unreadable(_ sequence: UInt64, _ text: String) -> Delivery { delivery(sequence, Array(text.utf8)) }

    private func delivery(_ sequence: UInt64, _ line: [UInt8]) -> Delivery {
        Delivery(
            id: .init(push: sequence, device: device(sequence)), transport: transport, app: app, head: line, rest: [])
    }

    private func device(_ sequence: UInt64) -> String { "device\(sequence % 5)" }

    func apnsID(_ sequence: UInt64) -> String { "\(digits(run, 8))-0000-4000-8000-\(digits(sequence, 12))" }

    private func digits(_ number: UInt64, _ width: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }

    /// The device of a push, as a number. The pushes of a device must keep their order.
    func deviceNumber(_ sequence: UInt64) -> UInt64 { sequence % 15 }
}
