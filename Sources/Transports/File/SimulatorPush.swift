import Events
import JSON
import PipelineKit

/// A push in the form that `xcrun simctl push DEVICE FILE` reads: the payload, with the app's bundle ID as one more
/// member.
struct SimulatorPush {
    /// The file's name. Different pushes have different names, which sort in the order of the pushes. A repeat of a
    /// push has the same name, so its file replaces the earlier file.
    let name: String
    let contents: [UInt8]

    /// Nil if the line is not JSON with an `apns-id` and a payload, or if neither the line nor ``Delivery/app`` has a
    /// topic.
    init?(_ delivery: Delivery) {
        var reader = PushReader()
        do throws(JSONError) {
            guard let read = try reader.read(delivery, { SimulatorPush(delivery, $0) }) else { return nil }
            self = read
        } catch { return nil }
    }

    private init?(_ delivery: Delivery, _ push: DeliveredPush) {
        guard let id = push.apnsID?.string, let payload = push.payload?.value, payload.isObject,
            let topic = push.topic?.string ?? delivery.app?.topic
        else { return nil }
        name = Self.name(delivery.id, id)
        contents = Self.contents(payload, topic)
    }

    /// The name begins with the push's number in a fixed width, so that names sort in the order of the pushes. The
    /// device's name follows. The name ends with the `apns-id`, by which pushes of different logs differ. A repeat of a
    /// push gets the same name.
    private static func name(_ id: Delivery.ID, _ apnsID: String) -> String {
        let number = String(id.push)
        let zeros = String(repeating: "0", count: max(0, digits - number.count))
        return "\(zeros)\(number)-\(safe(id.device, bytesMax: 120))-\(safe(apnsID, bytesMax: 80)).apns"
    }

    private static let digits = 12

    /// Keeps characters that have no meaning in shells and file systems. Other bytes become `%` and two hex digits.
    /// When three more bytes would exceed `bytesMax`, the rest of the text is dropped.
    private static func safe(_ text: String, bytesMax: Int) -> String {
        var safe = ""
        for byte in text.utf8 where safe.utf8.count + 3 <= bytesMax {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                safe.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                safe += digits.count == 2 ? "%\(digits)" : "%0\(digits)"
            }
        }
        return safe
    }

    private static func contents(_ payload: JSONValue, _ topic: String) -> [UInt8] {
        var buffer = ByteBuffer(capacity: payload.raw.count + 128)
        buffer.append("{")
        buffer.append("Simulator Target Bundle", topic)
        if payload.count > 0 { buffer.append(byte: UInt8(ascii: ",")) }
        buffer.append(UnsafeRawBufferPointer(rebasing: payload.raw.dropFirst()))
        buffer.append(byte: UInt8(ascii: "\n"))
        return Array(buffer.bytes)
    }
}
