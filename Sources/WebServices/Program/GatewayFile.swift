import JSON
import PipelineRuntime

/// A file in the gateway's folder that says where the gateway listens, or where it listened before it ended.
package struct GatewayFile: Hashable, Sendable {
    package static let name = "gateway.json"

    let process: Int64
    let host: String
    let port: Int

    static func write(port: Int, host: String, in folder: String, process: Int32) throws {
        let json = ByteBuffer.object { json in
            json.append("process", Int64(process))
            json.append("host", host)
            json.append("port", port)
        }
        try AtomicTextFile.write(String(decoding: json.bytes, as: UTF8.self) + "\n", to: "\(folder)/\(name)")
    }

    /// The port of the gateway with this process ID; nil if the folder has no valid file of this process.
    package static func port(in folder: String, process: Int32) throws -> Int? {
        guard let file = try GatewayFile(in: folder), file.process == process else { return nil }
        return file.port
    }

    /// Nil if the folder has no valid file, for example because no gateway has accepted requests with this folder yet.
    init?(in folder: String) throws {
        guard let text = try AtomicTextFile.read("\(folder)/\(Self.name)", bytesMax: 4096) else { return nil }
        var parser = JSONParser()
        let file = Array(text.utf8).withUnsafeBytes { bytes -> GatewayFile? in
            do throws(JSONError) { return GatewayFile(try parser.parse(bytes)) } catch { return nil }
        }
        guard let file else { return nil }
        self = file
    }

    private init?(_ json: JSONValue) {
        guard let process = json["process"]?.int64, let host = json["host"]?.string, let port = json["port"]?.int64
        else { return nil }
        (self.process, self.host, self.port) = (process, host, Int(port))
    }
}
