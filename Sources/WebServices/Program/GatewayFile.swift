import JSON
import PipelineRuntime

/// A file in the gateway's folder that says where a running gateway listens.
package enum GatewayFile {
    package static let name = "gateway.json"

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
        guard let text = try AtomicTextFile.read("\(folder)/\(name)", bytesMax: 4096) else { return nil }
        var parser = JSONParser()
        return Array(text.utf8).withUnsafeBytes { bytes in
            do throws(JSONError) {
                let json = try parser.parse(bytes)
                guard json["process"]?.int64 == Int64(process) else { return nil }
                return json["port"]?.int64.map { Int($0) }
            } catch { return nil }
        }
    }
}
