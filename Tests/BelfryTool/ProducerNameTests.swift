import Testing

@testable import BelfryTool

struct ProducerNameTests {
    @Test func `a file has the same producer name if its path is written in another way`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("in.ndjson", "")
        let name = ProducerName.of(InputSource(path: path))
        #expect(name == ProducerName.of(InputSource(path: folder.path + "/./in.ndjson")))
        #expect(name.hasSuffix("/in.ndjson"))
    }

    @Test func `producer names of long paths are short enough for the door, and differ`() {
        let long = String(repeating: "/folder", count: 60)
        let names = ["/a", "/b", ""].map { ProducerName.of(InputSource(path: long + $0)) }
        #expect(names.allSatisfy { (1...200).contains($0.utf8.count) })
        #expect(Set(names).count == 3)
        #expect((1...200).contains(ProducerName.unique().utf8.count))
    }
}
